// Values, inputs (with preprocessing baked in, when asked) and the file itself.
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/model/onnx.h"
#include "ddl/model/onnx/exporter.h"
#include "ddl/model/onnx/metadata.h"
#include "ddl/model/onnx/tensors.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace ddl {
namespace onnx_io {

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
  write_tensor(*proto_.add_initializer(), result, value, "ddl:constant");
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
  write_tensor(*proto_.add_initializer(), tensor.name, *value, kRoles.at(tensor.role));
}

namespace {
void describe(onnx::ValueInfoProto& info, const std::string& name, DType dtype,
              const Shape& shape) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_type_of(dtype));
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
}  // namespace

// Values as they are stored become what the model takes: the arithmetic of data's batches, with the
// same roundings. Cast, then Sub and Mul with the statistics (or Div by 255 for pixels without).
void Exporter::bake_input(const Field& field, const Tensor& input) {
  const std::string prefix = kBakedPrefix + field.name;
  std::string current = input.name;
  if (field.dtype != input.dtype) {
    const std::string cast = free_name(prefix + "/cast");
    set_attribute(node("Cast", cast, {current}, cast), "to",
                  std::int64_t{onnx_type_of(input.dtype)});
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

}  // namespace onnx_io

namespace {
constexpr int kOpset = 17;
constexpr int kIrVersion = 8;  // the one that came with opset 17
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
  onnx_io::Exporter(graph, values, *model.mutable_graph())
      .write(metadata, options.bake_preprocessing);
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
