// A graph to an ONNX model of opset 17.
//
// Ops that ONNX has under the same name are written as they are; shapes kept in attributes become
// constant operands again; transposed products become Transpose and MatMul, and Gelu, which is
// younger than opset 17, its pieces. load.cpp puts both together again.
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/model/onnx.h"
#include "ddl/model/onnx/metadata.h"
#include "ddl/model/onnx/tensors.h"
#include "ddl/model/op.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>

namespace ddl {
namespace {

constexpr int kOpset = 17;
constexpr int kIrVersion = 8;  // the one that came with opset 17

class Exporter {
 public:
  Exporter(const Graph& graph,
           const std::map<std::string, std::shared_ptr<const HostTensor>>& values,
           onnx::GraphProto& proto)
      : graph_(graph), values_(values), proto_(proto) {}

  void write(const ModelMetadata& metadata, bool bake);

 private:
  const std::string& name(TensorId id) const { return graph_.tensor(id).name; }
  std::string free_name(const std::string& wish);
  onnx::NodeProto& node(const std::string& op, const std::string& node_name,
                        const std::vector<std::string>& inputs, const std::string& output);
  std::string constant(const std::string& wish, const HostTensor& value);
  std::string scalar(const std::string& wish, double value);
  std::string integers(const std::string& wish, const std::vector<std::int64_t>& values);

  void write_value(const Tensor& tensor);
  void write_input(TensorId id, const ModelMetadata& metadata, bool bake);
  void bake_input(const Field& field, const Tensor& input);
  void write_node(const Node& node);
  void write_window(onnx::NodeProto& proto, const Node& node, const Shape& kernel);
  void write_matmul(const Node& node);
  void write_gelu(const Node& node);
  void write_slice(const Node& node);
  std::vector<std::string> input_names(const Node& node) const;

  const Graph& graph_;
  const std::map<std::string, std::shared_ptr<const HostTensor>>& values_;
  onnx::GraphProto& proto_;
  std::map<TensorId, std::string> renamed_;  // inputs behind baked preprocessing
  std::map<std::string, bool> extra_names_;
};

void set_attribute(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

void set_attribute(onnx::NodeProto& node, const std::string& name, double value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::FLOAT);
  attribute->set_f(static_cast<float>(value));
}

void set_attribute(onnx::NodeProto& node, const std::string& name,
                   const std::vector<std::int64_t>& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute->add_ints(value);
}

std::string Exporter::free_name(const std::string& wish) {
  std::string result = wish;
  for (int suffix = 2; graph_.find(result) != kNoTensor || extra_names_.contains(result);
       ++suffix) {
    result = wish + "#" + std::to_string(suffix);
  }
  extra_names_[result] = true;
  return result;
}

onnx::NodeProto& Exporter::node(const std::string& op, const std::string& node_name,
                                const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto& result = *proto_.add_node();
  result.set_op_type(op);
  result.set_name(node_name);
  for (const std::string& input : inputs) result.add_input(input);
  result.add_output(output);
  return result;
}

std::string Exporter::constant(const std::string& wish, const HostTensor& value) {
  std::string result = free_name(wish);
  onnx_io::write_tensor(*proto_.add_initializer(), result, value, "ddl:constant");
  return result;
}

std::string Exporter::scalar(const std::string& wish, double value) {
  return constant(wish, *make_f32({}, {static_cast<float>(value)}));
}

std::string Exporter::integers(const std::string& wish, const std::vector<std::int64_t>& values) {
  return constant(wish, *make_i64({static_cast<std::int64_t>(values.size())}, values));
}

void Exporter::write_value(const Tensor& tensor) {
  static const std::map<TensorRole, std::string> kRoles{{TensorRole::parameter, "ddl:parameter"},
                                                        {TensorRole::buffer, "ddl:buffer"},
                                                        {TensorRole::constant, "ddl:constant"}};
  const auto given = values_.find(tensor.name);
  const std::shared_ptr<const HostTensor> value =
      given != values_.end() ? given->second : tensor.value;
  if (value == nullptr) throw bad_input("tensor '" + tensor.name + "' has no value to write");
  if (value->shape != tensor.shape || value->dtype != tensor.dtype) {
    throw bad_input("the value of tensor '" + tensor.name + "' has shape " +
                    shape_text(value->shape) + ", expected " + shape_text(tensor.shape));
  }
  onnx_io::write_tensor(*proto_.add_initializer(), tensor.name, *value, kRoles.at(tensor.role));
}

void describe(onnx::ValueInfoProto& info, const std::string& name, DType dtype,
              const Shape& shape) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_io::onnx_type_of(dtype));
  type.mutable_shape();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    auto& dimension = *type.mutable_shape()->add_dim();
    if (axis == 0) {
      dimension.set_dim_param("N");
    } else {
      dimension.set_dim_value(shape[axis]);
    }
  }
}

// Values as they are stored become what the model takes: the arithmetic of data's batches, with the
// same roundings. Cast, then Sub and Mul with the statistics (or Div by 255 for pixels without).
void Exporter::bake_input(const Field& field, const Tensor& input) {
  const std::string prefix = onnx_io::kBakedPrefix + field.name;
  std::string current = input.name;
  if (field.dtype != input.dtype) {
    const std::string cast = free_name(prefix + "/cast");
    set_attribute(node("Cast", cast, {current}, cast), "to",
                  std::int64_t{onnx_io::onnx_type_of(input.dtype)});
    current = cast;
  }
  const bool image = field.kind == FieldKind::image;
  if (!image && field.kind != FieldKind::numeric) {
    renamed_[graph_.find(field.name)] = current;
    return;
  }
  const Normalisation& normalisation = field.normalisation;
  const auto count = static_cast<std::int64_t>(normalisation.mean.size());
  if (count == 0) {
    if (image && field.dtype == DType::u8) {
      const std::string scaled = free_name(prefix + "/scaled");
      node("Div", scaled, {current, scalar(prefix + "/255", 255)}, scaled);
      current = scaled;
    }
    renamed_[graph_.find(field.name)] = current;
    return;
  }
  Shape shape{count};
  if (image) shape.insert(shape.end(), {1, 1});
  if (normalisation.scale.size() != normalisation.mean.size() ||
      (image ? input.shape[1] : input.shape.back()) != count) {
    throw bad_input("field '" + field.name + "' has " + std::to_string(count) +
                    " means for shape " + shape_text(field.shape));
  }
  const std::vector<float> mean(normalisation.mean.begin(), normalisation.mean.end());
  const std::vector<float> scale(normalisation.scale.begin(), normalisation.scale.end());
  const std::string centred = free_name(prefix + "/centred");
  node("Sub", centred, {current, constant(prefix + "/mean", *make_f32(shape, mean))}, centred);
  const std::string scaled = free_name(prefix + "/scaled");
  node("Mul", scaled, {centred, constant(prefix + "/scale", *make_f32(shape, scale))}, scaled);
  renamed_[graph_.find(field.name)] = scaled;
}

void Exporter::write_input(TensorId id, const ModelMetadata& metadata, bool bake) {
  const Tensor& input = graph_.tensor(id);
  const auto field = std::find_if(metadata.inputs.begin(), metadata.inputs.end(),
                                  [&](const Field& one) { return one.name == input.name; });
  const bool raw = bake && field != metadata.inputs.end();
  describe(*proto_.add_input(), input.name, raw ? field->dtype : input.dtype, input.shape);
  if (bake && !raw) {
    throw bad_input("input '" + input.name + "' has no field to take its preprocessing from",
                    "write the model without --bake-preprocessing");
  }
  if (raw) bake_input(*field, input);
}

std::vector<std::string> Exporter::input_names(const Node& source) const {
  std::vector<std::string> names;
  for (const TensorId id : source.inputs) {
    if (id == kNoTensor) {
      names.emplace_back();
      continue;
    }
    const auto renamed = renamed_.find(id);
    names.push_back(renamed != renamed_.end() ? renamed->second : name(id));
  }
  return names;
}

void Exporter::write_window(onnx::NodeProto& proto, const Node& source, const Shape& kernel) {
  const Shape strides = source.integers("strides", {1, 1});
  Shape pads = source.integers("pads", {0, 0, 0, 0});
  bool ceil = source.integer("ceil_mode", 0) != 0;
  const bool counted = source.integer("count_include_pad", 0) != 0;
  if (ceil && !counted) {
    // Runtimes disagree on a last window that would start in the trailing padding: pads that give
    // the same windows without rounding up leave no doubt.
    const Shape& x = graph_.tensor(source.inputs[0]).shape;
    const Shape& y = graph_.tensor(source.outputs[0]).shape;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      pads[axis + 2] = std::max<std::int64_t>(
          0, (y[axis + 2] - 1) * strides[axis] + kernel[axis] - x[axis + 2] - pads[axis]);
    }
    ceil = false;
  }
  set_attribute(proto, "kernel_shape", kernel);
  set_attribute(proto, "strides", strides);
  set_attribute(proto, "pads", pads);
  if (source.op == "Conv") {
    set_attribute(proto, "dilations", source.integers("dilations", {1, 1}));
    set_attribute(proto, "group", source.integer("group", 1));
    return;
  }
  set_attribute(proto, "ceil_mode", std::int64_t{ceil});
  if (source.op == "AveragePool") {
    set_attribute(proto, "count_include_pad", std::int64_t{counted});
  }
}

void Exporter::write_matmul(const Node& source) {
  std::vector<std::string> inputs = input_names(source);
  const char* const flags[] = {"trans_a", "trans_b"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (source.integer(flags[i], 0) == 0) continue;
    Shape perm(graph_.tensor(source.inputs[i]).shape.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    const std::string turned = free_name(source.name + "/" + flags[i]);
    set_attribute(node("Transpose", turned, {inputs[i]}, turned), "perm", perm);
    inputs[i] = turned;
  }
  node("MatMul", source.name, inputs, name(source.outputs[0]));
}

// none: 0.5 x (1 + erf(x / sqrt 2)); tanh: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
void Exporter::write_gelu(const Node& source) {
  const std::string x = input_names(source)[0];
  const std::string base = source.name;
  const auto piece = [&](const std::string& op, const std::string& suffix,
                         const std::vector<std::string>& inputs) {
    const std::string output = free_name(base + "/" + suffix);
    node(op, output, inputs, output);
    return output;
  };
  std::string bent;
  if (source.text("approximate", "none") == "none") {
    const std::string scaled =
        piece("Div", "scaled", {x, scalar(base + "/sqrt2", std::numbers::sqrt2)});
    bent = piece("Erf", "erf", {scaled});
  } else {
    const std::string cube = piece("Mul", "cube", {piece("Mul", "square", {x, x}), x});
    const std::string small =
        piece("Mul", "small", {cube, scalar(base + "/coefficient", 0.044715)});
    const std::string sum = piece("Add", "sum", {x, small});
    const double factor = std::sqrt(2 / std::numbers::pi);
    bent = piece("Tanh", "tanh", {piece("Mul", "inner", {sum, scalar(base + "/factor", factor)})});
  }
  const std::string shifted = piece("Add", "shifted", {bent, scalar(base + "/one", 1)});
  const std::string gated = piece("Mul", "gated", {x, shifted});
  node("Mul", base, {gated, scalar(base + "/half", 0.5)}, name(source.outputs[0]));
}

void Exporter::write_slice(const Node& source) {
  std::vector<std::string> inputs = input_names(source);
  const auto starts = source.integers("starts");
  std::vector<std::int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  inputs.push_back(integers(source.name + "/starts", starts));
  inputs.push_back(integers(source.name + "/ends", source.integers("ends")));
  inputs.push_back(integers(source.name + "/axes", source.integers("axes", all)));
  inputs.push_back(integers(source.name + "/steps",
                            source.integers("steps", std::vector<std::int64_t>(starts.size(), 1))));
  node("Slice", source.name, inputs, name(source.outputs[0]));
}

void Exporter::write_node(const Node& source) {
  if (source.op == "MatMul") return write_matmul(source);
  if (source.op == "Gelu") return write_gelu(source);
  if (source.op == "Slice") return write_slice(source);
  std::vector<std::string> inputs = input_names(source);
  if (source.op == "Reshape") {
    inputs.push_back(integers(source.name + "/shape", source.integers("shape")));
  } else if (source.op == "Dropout") {
    inputs.push_back(scalar(source.name + "/ratio", source.real("ratio", 0.5)));
  }
  onnx::NodeProto& proto = node(source.op, source.name, inputs, name(source.outputs[0]));
  if (source.op == "Conv") {
    const Shape& w = graph_.tensor(source.inputs[1]).shape;
    write_window(proto, source, {w[2], w[3]});
  } else if (source.op == "MaxPool" || source.op == "AveragePool") {
    write_window(proto, source, source.integers("kernel_shape"));
  } else if (source.op == "BatchNormalization") {
    set_attribute(proto, "epsilon", source.real("epsilon", 1e-5));
    set_attribute(proto, "momentum", source.real("momentum", 0.9));
  } else if (source.op == "LayerNormalization") {
    set_attribute(proto, "axis", source.integer("axis", -1));
    set_attribute(proto, "epsilon", source.real("epsilon", 1e-5));
  } else if (source.op == "Gemm") {
    set_attribute(proto, "alpha", source.real("alpha", 1));
    set_attribute(proto, "beta", source.real("beta", 1));
    set_attribute(proto, "transA", source.integer("transA", 0));
    set_attribute(proto, "transB", source.integer("transB", 0));
  } else if (source.op == "Softmax") {
    set_attribute(proto, "axis", source.integer("axis", -1));
  } else if (source.op == "Flatten") {
    set_attribute(proto, "axis", source.integer("axis", 1));
  } else if (source.op == "Concat" || source.op == "Gather") {
    set_attribute(proto, "axis", source.integer("axis", 0));
  } else if (source.op == "Transpose") {
    if (source.attributes.contains("perm")) set_attribute(proto, "perm", source.integers("perm"));
  } else if (source.op == "ReduceMean") {
    if (source.attributes.contains("axes")) set_attribute(proto, "axes", source.integers("axes"));
    set_attribute(proto, "keepdims", source.integer("keepdims", 1));
  } else if (source.op == "Cast") {
    set_attribute(proto, "to",
                  std::int64_t{onnx_io::onnx_type_of(parse_dtype(source.text("to", "float32")))});
  } else {
    static const std::vector<std::string> kPlain{"GlobalAveragePool",
                                                 "Relu",
                                                 "Tanh",
                                                 "Sigmoid",
                                                 "Erf",
                                                 "Exp",
                                                 "Log",
                                                 "Sqrt",
                                                 "Neg",
                                                 "Add",
                                                 "Reciprocal",
                                                 "Sub",
                                                 "Mul",
                                                 "Div",
                                                 "Sum",
                                                 "Reshape",
                                                 "Identity",
                                                 "Dropout"};
    if (std::find(kPlain.begin(), kPlain.end(), source.op) == kPlain.end()) {
      throw bad_input("op " + source.op + " of node '" + source.name + "' has no form in ONNX",
                      "write the model in its inference form");
    }
  }
}

void Exporter::write(const ModelMetadata& metadata, bool bake) {
  proto_.set_name(graph_.name.empty() ? "model" : graph_.name);
  for (std::size_t i = 0; i < graph_.tensor_count(); ++i) {
    const Tensor& tensor = graph_.tensor(static_cast<TensorId>(i));
    if (tensor.role == TensorRole::parameter || tensor.role == TensorRole::buffer ||
        tensor.role == TensorRole::constant) {
      write_value(tensor);
    }
  }
  for (const TensorId id : graph_.inputs) write_input(id, metadata, bake);
  for (const Node& one : graph_.nodes()) write_node(one);
  for (const TensorId id : graph_.outputs) {
    const Tensor& output = graph_.tensor(id);
    describe(*proto_.add_output(), output.name, output.dtype, output.shape);
  }
}

}  // namespace

void save_onnx(const Graph& graph,
               const std::map<std::string, std::shared_ptr<const HostTensor>>& values,
               const ModelMetadata& metadata, const std::filesystem::path& file,
               const SaveOnnxOptions& options) {
  // The file's batch axis is symbolic: the graph must not depend on the batch it was made for.
  static_cast<void>(graph.with_batch(graph.batch() + 1));
  onnx::ModelProto model;
  model.set_ir_version(kIrVersion);
  auto* opset = model.add_opset_import();
  opset->set_domain("");
  opset->set_version(kOpset);
  model.set_producer_name("ddl");
  if (const auto version = metadata.provenance.find("ddl.version");
      version != metadata.provenance.end()) {
    model.set_producer_version(version->second);
  }
  Exporter(graph, values, *model.mutable_graph()).write(metadata, options.bake_preprocessing);
  onnx_io::write_metadata(model, metadata);
  if (options.bake_preprocessing) {
    auto* entry = model.add_metadata_props();
    entry->set_key(onnx_io::kBakedKey);
    entry->set_value("true");
  }
  if (model.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw failure(file.string() + ": the model is over 2 GiB, more than one ONNX file can hold");
  }
  std::string bytes;
  if (!model.SerializeToString(&bytes)) {
    throw failure(file.string() + ": the model could not be serialised");
  }
  write_bytes_atomically(file, std::as_bytes(std::span(bytes.data(), bytes.size())));
}

}  // namespace ddl
