#include "ddl/model/onnx/importer.h"

#include "ddl/base/error.h"
#include "ddl/model/onnx/metadata.h"
#include "ddl/model/onnx/tensors.h"
#include "ddl/model/onnx/translate.h"

#include <algorithm>
#include <utility>

namespace ddl::onnx_io {
namespace {

constexpr std::int64_t kLargestTensor = std::int64_t{1} << 40;  // elements

bool is_float(const HostTensor& value) {
  return value.dtype == DType::f32;
}

// Fed at position 3 or 4 of a batch normalisation: running statistics.
std::set<std::string> statistics_names(const onnx::GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& node : graph.node()) {
    if (node.op_type() != "BatchNormalization") continue;
    for (int i = 3; i < std::min(5, node.input_size()); ++i) names.insert(node.input(i));
  }
  return names;
}

// What baked preprocessing turns an input into.
DType unbaked_type(const onnx::GraphProto& graph, const std::string& input, DType stored) {
  for (const auto& node : graph.node()) {
    if (node.name().starts_with(kBakedPrefix) && node.op_type() == "Cast" &&
        node.input_size() == 1 && node.input(0) == input) {
      return dtype_of(static_cast<int>(integer_attribute(node, "to", 0)), "input '" + input + "'");
    }
  }
  return stored;
}

std::string nearest_op(const std::string& op) {
  std::vector<std::string_view> names;
  for (const auto& [name, translation] : translations()) names.emplace_back(name);
  return nearest_name(op, names.data(), names.data() + names.size());
}

}  // namespace

std::string described(const onnx::NodeProto& node) {
  std::string name = node.name();
  if (name.empty() && node.output_size() > 0) name = node.output(0);
  return "node '" + name + "' (" + node.op_type() + ")";
}

Initialisers read_initialisers(const onnx::GraphProto& graph, const std::filesystem::path& folder) {
  if (graph.sparse_initializer_size() > 0) {
    throw bad_input("sparse initialisers are not supported", "export dense weights");
  }
  Initialisers result;
  for (const auto& proto : graph.initializer()) {
    require_printable(proto.name(), "an initialiser");
    if (proto.name().empty()) throw bad_input("an initialiser has no name");
    if (!result.emplace(proto.name(), read_tensor(proto, folder)).second) {
      throw bad_input("two initialisers are named '" + proto.name() + "'");
    }
  }
  return result;
}

std::int64_t declared_batch(const onnx::GraphProto& graph) {
  std::set<std::string> values;
  for (const auto& proto : graph.initializer()) values.insert(proto.name());
  std::int64_t batch = 0;
  for (const auto& input : graph.input()) {
    if (values.contains(input.name())) continue;
    const auto& shape = input.type().tensor_type().shape();
    if (shape.dim_size() == 0) continue;
    const std::int64_t extent = shape.dim(0).has_dim_value() ? shape.dim(0).dim_value() : 0;
    if (extent < 0 || extent > (1 << 24)) {
      throw bad_input("input '" + input.name() + "' has a batch of " + std::to_string(extent));
    }
    if (extent == 0) return 0;
    if (batch != 0 && batch != extent) {
      throw bad_input(
          "inputs have batches of " + std::to_string(batch) + " and " + std::to_string(extent),
          "the first axis of every input must be the batch");
    }
    batch = extent;
  }
  return batch;
}

Importer::Importer(const onnx::ModelProto& model, const Initialisers& initialisers,
                   std::int64_t opset, std::int64_t batch, bool unbake)
    : model_(model), initialisers_(initialisers), opset_(opset), batch_(batch), unbake_(unbake) {}

void Importer::add_values() {
  const std::set<std::string> statistics = statistics_names(model_.graph());
  for (const auto& proto : model_.graph().initializer()) {
    const std::shared_ptr<const HostTensor>& value = initialisers_.at(proto.name());
    if (unbake_ && proto.name().starts_with(kBakedPrefix)) continue;
    const std::string& role = proto.doc_string();
    Value entry;
    // Numbers with more than one element are weights; single ones belong to formulas.
    const bool weight = is_float(*value) && !value->shape.empty() && value->bytes.size() > 4;
    if (role == "ddl:parameter" && is_float(*value)) {
      entry.tensor = graph.add_parameter(proto.name(), value);
    } else if (role == "ddl:buffer" || statistics.contains(proto.name())) {
      entry.tensor = graph.add_buffer(proto.name(), value);
    } else if (role != "ddl:constant" && weight) {
      entry.tensor = graph.add_parameter(proto.name(), value);
    } else {
      entry.constant = value;
      // Our own files: in the order they were written.
      if (role == "ddl:constant" && is_float(*value)) {
        entry.tensor = graph.add_constant(proto.name(), value);
      }
    }
    values_[proto.name()] = entry;
  }
}

void Importer::add_inputs() {
  for (const auto& input : model_.graph().input()) {
    if (initialisers_.contains(input.name())) continue;  // a default value, as old files have
    require_printable(input.name(), "an input");
    if (values_.contains(input.name()))
      throw bad_input("two inputs are named '" + input.name() + "'");
    if (!input.type().has_tensor_type()) {
      throw bad_input("input '" + input.name() + "' is not a tensor");
    }
    const auto& type = input.type().tensor_type();
    Shape extents;
    for (int axis = 0; axis < type.shape().dim_size(); ++axis) {
      const auto& dimension = type.shape().dim(axis);
      if (axis > 0 && (!dimension.has_dim_value() || dimension.dim_value() < 1)) {
        throw bad_input(
            "input '" + input.name() + "' has no fixed extent for axis " + std::to_string(axis),
            "export the model with every axis but the batch fixed");
      }
      extents.push_back(axis == 0 ? batch_ : dimension.dim_value());
    }
    if (extents.empty()) {
      throw bad_input("input '" + input.name() + "' has no batch axis",
                      "the first axis of every input must be the batch");
    }
    if (extents.size() > 16) throw bad_input("input '" + input.name() + "' has too many axes");
    DType dtype = dtype_of(type.elem_type(), "input '" + input.name() + "'");
    if (unbake_) dtype = unbaked_type(model_.graph(), input.name(), dtype);
    values_[input.name()].tensor = graph.add_input(input.name(), dtype, extents);
  }
  if (graph.inputs.empty()) throw bad_input("the model has no input");
}

const Value& Importer::value(const onnx::NodeProto& node, int input) const {
  const auto found = values_.find(node.input(input));
  if (found == values_.end()) {
    throw bad_input("input '" + node.input(input) + "' is not computed before it",
                    "nodes must be in order, without cycles")
        .with_pointer(described(node));
  }
  return found->second;
}

bool Importer::given(const onnx::NodeProto& node, int input) const {
  return input < node.input_size() && !node.input(input).empty();
}

TensorId Importer::materialise(const std::string& name, Value& entry) {
  if (entry.tensor == kNoTensor) {
    // The name may be taken by a helper that was named before.
    if (const TensorId taken = graph.find(name); taken != kNoTensor) adopt(kNoTensor, name);
    entry.tensor = graph.add_constant(name, entry.constant);
  }
  return entry.tensor;
}

TensorId Importer::tensor(const onnx::NodeProto& node, int input) {
  if (!given(node, input)) throw bad_input("input " + std::to_string(input) + " is missing");
  value(node, input);  // checks
  return materialise(node.input(input), values_.at(node.input(input)));
}

TensorId Importer::optional_tensor(const onnx::NodeProto& node, int input) {
  return given(node, input) ? tensor(node, input) : kNoTensor;
}

const Shape& Importer::shape(const onnx::NodeProto& node, int input) {
  if (!given(node, input)) throw bad_input("input " + std::to_string(input) + " is missing");
  const Value& entry = value(node, input);
  return entry.constant != nullptr ? entry.constant->shape : graph.tensor(entry.tensor).shape;
}

std::shared_ptr<const HostTensor> Importer::constant(const onnx::NodeProto& node, int input) const {
  return given(node, input) ? value(node, input).constant : nullptr;
}

std::vector<std::int64_t> Importer::integers(const onnx::NodeProto& node, int input) const {
  const auto found = constant(node, input);
  if (found == nullptr) {
    throw bad_input("input " + std::to_string(input) + " must be constant, it is computed",
                    "export with fixed shapes (every axis but the batch)");
  }
  const auto count = static_cast<std::size_t>(element_count(found->shape));
  if (found->dtype == DType::i64)
    return {found->as<std::int64_t>(), found->as<std::int64_t>() + count};
  if (found->dtype == DType::i32)
    return {found->as<std::int32_t>(), found->as<std::int32_t>() + count};
  throw bad_input("input " + std::to_string(input) + " is " +
                  std::string(dtype_name(found->dtype)) + ", expected integers");
}

std::string Importer::node_name(const onnx::NodeProto& node) {
  std::string wish =
      node.name().empty() ? node.op_type() + "_" + std::to_string(node_names_.size()) : node.name();
  std::string result = wish;
  for (int suffix = 2; !node_names_.insert(result).second; ++suffix) {
    result = wish + "#" + std::to_string(suffix);
  }
  return result;
}

// Gives a tensor the name it has in the file; a helper that holds the name moves away.
void Importer::adopt(TensorId tensor, const std::string& name) {
  const TensorId taken = graph.find(name);
  if (taken == tensor && tensor != kNoTensor) return;
  if (taken != kNoTensor) {
    std::string moved;
    int suffix = 2;
    do moved = name + "#" + std::to_string(suffix++);
    while (graph.find(moved) != kNoTensor);
    graph.rename(taken, moved);
  }
  if (tensor != kNoTensor) graph.rename(tensor, name);
}

void Importer::bind(const onnx::NodeProto& node, int output, Value entry) {
  if (output >= node.output_size() || node.output(output).empty()) return;
  require_printable(node.output(output), "an output of " + described(node));
  if (!values_.emplace(node.output(output), std::move(entry)).second) {
    throw bad_input("output '" + node.output(output) + "' is computed twice");
  }
}

void Importer::emit(const onnx::NodeProto& node, const std::string& op,
                    std::vector<TensorId> inputs, std::map<std::string, Attribute> attributes,
                    int output) {
  const TensorId id = graph.add(op, std::move(inputs), std::move(attributes), node_name(node));
  if (element_count(graph.tensor(id).shape) > kLargestTensor) {
    throw bad_input("output of shape " + shape_text(graph.tensor(id).shape) + " is too large");
  }
  producers_[id] = graph.nodes().size() - 1;
  if (output < node.output_size() && !node.output(output).empty()) {
    adopt(id, node.output(output));
  }
  bind(node, output, {id, nullptr});
}

TensorId Importer::emit_part(const onnx::NodeProto& node, const std::string& op,
                             std::vector<TensorId> inputs,
                             std::map<std::string, Attribute> attributes) {
  onnx::NodeProto part;
  part.set_name((node.name().empty() ? node.op_type() : node.name()) + "/" + op);
  const TensorId id = graph.add(op, std::move(inputs), std::move(attributes), node_name(part));
  if (element_count(graph.tensor(id).shape) > kLargestTensor) {
    throw bad_input("a value of shape " + shape_text(graph.tensor(id).shape) + " is too large");
  }
  producers_[id] = graph.nodes().size() - 1;
  return id;
}

TensorId Importer::scalar(const onnx::NodeProto& node, double number) {
  std::string wish = (node.name().empty() ? node.op_type() : node.name()) + "/value";
  std::string name = wish;
  for (int suffix = 2; graph.find(name) != kNoTensor; ++suffix) {
    name = wish + "#" + std::to_string(suffix);
  }
  return graph.add_constant(name, make_f32({1}, {static_cast<float>(number)}));
}

const Node* Importer::producer(TensorId tensor) const {
  const auto found = producers_.find(tensor);
  return found == producers_.end() ? nullptr : &graph.nodes()[found->second];
}

const float* Importer::scalar_constant(TensorId tensor) const {
  const Tensor& entry = graph.tensor(tensor);
  if (entry.role != TensorRole::constant || entry.dtype != DType::f32 || entry.value == nullptr ||
      entry.value->bytes.size() != sizeof(float)) {
    return nullptr;
  }
  return entry.value->as<float>();
}

void Importer::translate(const onnx::NodeProto& node) {
  require_printable(node.name(), "a node");
  require_printable(node.op_type(), "an op");
  // Written by save_onnx before the model proper: the model's input takes their place.
  if (unbake_ && node.name().starts_with(kBakedPrefix)) {
    if (node.input_size() > 0 && node.output_size() > 0 && values_.contains(node.input(0))) {
      values_[node.output(0)] = values_.at(node.input(0));
    }
    return;
  }
  const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
  const auto entry = translations().find(node.op_type());
  if (!standard || entry == translations().end()) {
    const std::string nearest = standard ? nearest_op(node.op_type()) : "";
    throw bad_input(
        "op " + (standard ? "" : node.domain() + ".") + node.op_type() + " is not supported",
        nearest.empty() ? "ddl-model(1) lists the supported ops"
                        : "the nearest supported op is " + nearest);
  }
  for (int i = 0; i < node.input_size(); ++i) {
    if (!node.input(i).empty()) value(node, i);
  }
  if (fold(*this, node)) return;
  entry->second(*this, node);
}

Graph Importer::run() {
  graph.name = model_.graph().name();
  require_printable(graph.name, "the graph");
  add_values();
  add_inputs();
  for (const auto& node : model_.graph().node()) {
    try {
      translate(node);
    } catch (Error& error) {
      throw error.with_pointer(described(node));
    }
  }
  if (model_.graph().output_size() == 0) throw bad_input("the model has no output");
  for (const auto& output : model_.graph().output()) {
    const auto found = values_.find(output.name());
    if (found == values_.end()) {
      throw bad_input("output '" + output.name() + "' is not computed by any node");
    }
    const TensorId id = found->second.tensor;
    if (id == kNoTensor || producer(id) == nullptr) {
      throw bad_input("output '" + output.name() + "' does not depend on the inputs");
    }
    adopt(id, output.name());
    graph.outputs.push_back(id);
  }
  return std::move(graph);
}

}  // namespace ddl::onnx_io
