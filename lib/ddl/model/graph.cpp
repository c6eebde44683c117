#include "ddl/model/graph.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/model/op.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace ddl {
namespace {

template <class T>
const T* attribute_as(const Node& node, std::string_view key, std::string_view expected) {
  const auto found = node.attributes.find(std::string(key));
  if (found == node.attributes.end()) return nullptr;
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) {
    throw bad_input("attribute '" + std::string(key) + "' is not " + std::string(expected))
        .with_pointer("node '" + node.name + "' (" + node.op + ")");
  }
  return value;
}

// What a failed shape rule looked at: "x 1x3x8x8, weight 4x2x3x3".
std::string operands_text(const Graph& graph, const Node& node) {
  std::string text;
  for (const TensorId id : node.inputs) {
    if (!text.empty()) text += ", ";
    if (id < 0 || static_cast<std::size_t>(id) >= graph.tensor_count()) {
      text += "(absent)";
      continue;
    }
    const Tensor& tensor = graph.tensor(id);
    text += "'" + tensor.name + "' " + std::string(dtype_name(tensor.dtype)) + " " +
            shape_text(tensor.shape);
  }
  return text;
}

void hash_text(Xxh128& hash, std::string_view text) {
  hash.update_u64(text.size());
  hash.update(text);
}

void hash_attribute(Xxh128& hash, const Attribute& attribute) {
  hash.update_u64(attribute.index());
  if (const auto* integer = std::get_if<std::int64_t>(&attribute)) {
    hash.update_u64(static_cast<std::uint64_t>(*integer));
  } else if (const auto* real = std::get_if<double>(&attribute)) {
    hash.update_u64(std::bit_cast<std::uint64_t>(*real));
  } else if (const auto* text = std::get_if<std::string>(&attribute)) {
    hash_text(hash, *text);
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&attribute)) {
    hash.update_u64(integers->size());
    for (const std::int64_t value : *integers) hash.update_u64(static_cast<std::uint64_t>(value));
  } else if (const auto* reals = std::get_if<std::vector<double>>(&attribute)) {
    hash.update_u64(reals->size());
    for (const double value : *reals) hash.update_u64(std::bit_cast<std::uint64_t>(value));
  }
}

}  // namespace

std::int64_t Node::integer(std::string_view key, std::int64_t fallback) const {
  const auto* value = attribute_as<std::int64_t>(*this, key, "an integer");
  return value != nullptr ? *value : fallback;
}

double Node::real(std::string_view key, double fallback) const {
  const auto* value = attribute_as<double>(*this, key, "a number");
  return value != nullptr ? *value : fallback;
}

std::string Node::text(std::string_view key, std::string fallback) const {
  const auto* value = attribute_as<std::string>(*this, key, "text");
  return value != nullptr ? *value : std::move(fallback);
}

std::vector<std::int64_t> Node::integers(std::string_view key,
                                         std::vector<std::int64_t> fallback) const {
  const auto* value = attribute_as<std::vector<std::int64_t>>(*this, key, "a list of integers");
  return value != nullptr ? *value : std::move(fallback);
}

TensorId Graph::add_tensor(Tensor added) {
  element_count(added.shape);  // refuses negative extents and overflow
  if (added.name.empty()) throw bad_input("a tensor has no name");
  const auto id = static_cast<TensorId>(tensors_.size());
  if (!tensor_names_.emplace(added.name, id).second) {
    throw bad_input("the name '" + added.name + "' is used by two tensors",
                    "every tensor of a graph needs its own name");
  }
  tensors_.push_back(std::move(added));
  return id;
}

TensorId Graph::add_input(std::string tensor_name, DType dtype, Shape shape) {
  const TensorId id =
      add_tensor({std::move(tensor_name), dtype, std::move(shape), TensorRole::input, nullptr});
  inputs.push_back(id);
  return id;
}

TensorId Graph::add_parameter(std::string tensor_name, std::shared_ptr<const HostTensor> value) {
  return add_tensor(
      {std::move(tensor_name), value->dtype, value->shape, TensorRole::parameter, value});
}

TensorId Graph::add_buffer(std::string tensor_name, std::shared_ptr<const HostTensor> value) {
  return add_tensor(
      {std::move(tensor_name), value->dtype, value->shape, TensorRole::buffer, value});
}

TensorId Graph::add_constant(std::string tensor_name, std::shared_ptr<const HostTensor> value) {
  return add_tensor(
      {std::move(tensor_name), value->dtype, value->shape, TensorRole::constant, value});
}

void Graph::infer(const Node& node, std::vector<Tensor>& results) const {
  try {
    const OpDefinition& definition = op_definition(node.op);
    const auto inputs_given = static_cast<int>(node.inputs.size());
    if (inputs_given < definition.minimum_inputs ||
        (definition.maximum_inputs >= 0 && inputs_given > definition.maximum_inputs)) {
      throw bad_input("has " + std::to_string(inputs_given) + " inputs, expected " +
                      std::to_string(definition.minimum_inputs) +
                      (definition.maximum_inputs < 0 ? " or more"
                       : definition.maximum_inputs > definition.minimum_inputs
                           ? " to " + std::to_string(definition.maximum_inputs)
                           : ""));
    }
    if (static_cast<int>(results.size()) > definition.maximum_outputs) {
      throw bad_input("has " + std::to_string(results.size()) + " outputs, expected at most " +
                      std::to_string(definition.maximum_outputs));
    }
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId id = node.inputs[i];
      if (id == kNoTensor && static_cast<int>(i) >= definition.minimum_inputs) continue;
      if (id < 0 || static_cast<std::size_t>(id) >= tensors_.size()) {
        throw bad_input("input " + std::to_string(i) + " is not a tensor of the graph");
      }
    }
    definition.infer(*this, node, results);
    for (const Tensor& result : results) element_count(result.shape);
  } catch (Error& error) {
    // The rule says what does not fit; here the node and the shapes found are added.
    if (error.kind() != ErrorKind::bad_input || !error.pointer().empty()) throw;
    const std::string operands = operands_text(*this, node);
    throw bad_input(error.reason() + (operands.empty() ? "" : " (inputs: " + operands + ")"),
                    error.remedy())
        .with_pointer("node '" + node.name + "' (" + node.op + ")");
  }
}

std::vector<TensorId> Graph::add_node(std::string op, std::vector<TensorId> node_inputs,
                                      std::map<std::string, Attribute> attributes, int output_count,
                                      std::string node_name) {
  Node node;
  if (node_name.empty()) {
    std::size_t number = nodes_.size();
    do node_name = op + "_" + std::to_string(number++);
    while (node_names_.contains(node_name));
  }
  node.op = std::move(op);
  node.name = std::move(node_name);
  node.inputs = std::move(node_inputs);
  node.attributes = std::move(attributes);
  // Absent operands beside the last ones: a rule sees them as not given.
  while (!node.inputs.empty() && node.inputs.back() == kNoTensor) node.inputs.pop_back();

  std::vector<Tensor> results(static_cast<std::size_t>(output_count));
  infer(node, results);
  if (!node_names_.insert(node.name).second) {
    throw bad_input("the name '" + node.name + "' is used by two nodes",
                    "every node of a graph needs its own name");
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string base = i == 0 ? node.name : node.name + ":" + std::to_string(i);
    results[i].name = base;
    for (int suffix = 2; tensor_names_.contains(results[i].name); ++suffix) {
      results[i].name = base + "#" + std::to_string(suffix);
    }
    results[i].role = TensorRole::intermediate;
    node.outputs.push_back(add_tensor(std::move(results[i])));
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

TensorId Graph::add(std::string op, std::vector<TensorId> node_inputs,
                    std::map<std::string, Attribute> attributes, std::string node_name) {
  return add_node(std::move(op), std::move(node_inputs), std::move(attributes), 1,
                  std::move(node_name))
      .front();
}

TensorId Graph::add_output(std::size_t index) {
  const std::size_t position = nodes_[index].outputs.size();
  std::vector<Tensor> results(position + 1);
  infer(nodes_[index], results);
  Tensor result = std::move(results.back());
  const std::string base = nodes_[index].name + ":" + std::to_string(position);
  result.name = base;
  for (int suffix = 2; tensor_names_.contains(result.name); ++suffix) {
    result.name = base + "#" + std::to_string(suffix);
  }
  result.role = TensorRole::intermediate;
  const TensorId id = add_tensor(std::move(result));
  nodes_[index].outputs.push_back(id);
  return id;
}

std::vector<TensorId> Graph::parameters() const {
  std::vector<TensorId> ids;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].role == TensorRole::parameter) ids.push_back(static_cast<TensorId>(i));
  }
  return ids;
}

std::vector<TensorId> Graph::buffers() const {
  std::vector<TensorId> ids;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].role == TensorRole::buffer) ids.push_back(static_cast<TensorId>(i));
  }
  return ids;
}

void Graph::rename(TensorId id, std::string tensor_name) {
  if (tensor(id).name == tensor_name) return;
  if (tensor_name.empty() || !tensor_names_.emplace(tensor_name, id).second) {
    throw bad_input("the name '" + tensor_name + "' is used by two tensors",
                    "every tensor of a graph needs its own name");
  }
  tensor_names_.erase(tensor(id).name);
  tensor(id).name = std::move(tensor_name);
}

TensorId Graph::find(std::string_view tensor_name) const {
  const auto found = tensor_names_.find(tensor_name);
  return found == tensor_names_.end() ? kNoTensor : found->second;
}

std::int64_t Graph::parameter_count() const {
  std::int64_t count = 0;
  for (const TensorId id : parameters()) count += element_count(tensor(id).shape);
  return count;
}

std::int64_t Graph::batch() const {
  if (inputs.empty() || tensor(inputs.front()).shape.empty()) {
    throw bad_input("the model has no input with a batch axis",
                    "a model needs an input whose first axis is the batch");
  }
  return tensor(inputs.front()).shape.front();
}

Graph Graph::with_batch(std::int64_t samples) const {
  const std::int64_t before = batch();
  if (samples < 1) throw bad_input("a batch of " + std::to_string(samples) + " samples");
  Graph result = *this;
  for (const TensorId id : result.inputs) {
    Tensor& input = result.tensor(id);
    if (input.shape.empty() || input.shape.front() != before) {
      throw bad_input("input '" + input.name + "' of shape " + shape_text(input.shape) +
                          " does not have the batch as its first axis",
                      "give every input the same first axis");
    }
    input.shape.front() = samples;
  }
  for (const Node& node : result.nodes_) {
    std::vector<Tensor> results(node.outputs.size());
    result.infer(node, results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (node.outputs[i] != kNoTensor) {
        result.tensor(node.outputs[i]).shape = std::move(results[i].shape);
      }
    }
  }
  for (const TensorId id : result.outputs) {
    const Tensor& output = result.tensor(id);
    if (output.shape.empty() || output.shape.front() != samples) {
      throw bad_input("output '" + output.name + "' has shape " + shape_text(output.shape) +
                          " for a batch of " + std::to_string(samples),
                      "the first axis of every output must be the batch");
    }
  }
  return result;
}

std::string Graph::structure_hash() const {
  Xxh128 hash;
  hash.update_u64(tensors_.size());
  for (const Tensor& item : tensors_) {
    hash_text(hash, item.name);
    hash.update_u64(static_cast<std::uint64_t>(item.role));
    hash_text(hash, dtype_name(item.dtype));
    if (item.role == TensorRole::intermediate) continue;  // follows from the rest
    hash.update_u64(item.shape.size());
    const std::size_t first = item.role == TensorRole::input ? 1 : 0;
    for (std::size_t axis = first; axis < item.shape.size(); ++axis) {
      hash.update_u64(static_cast<std::uint64_t>(item.shape[axis]));
    }
  }
  const auto hash_ids = [&hash](const std::vector<TensorId>& ids) {
    hash.update_u64(ids.size());
    for (const TensorId id : ids) hash.update_u64(static_cast<std::uint64_t>(id));
  };
  hash.update_u64(nodes_.size());
  for (const Node& node : nodes_) {
    hash_text(hash, node.op);
    hash_text(hash, node.name);
    hash_ids(node.inputs);
    hash_ids(node.outputs);
    hash.update_u64(node.attributes.size());
    for (const auto& [key, attribute] : node.attributes) {
      hash_text(hash, key);
      hash_attribute(hash, attribute);
    }
  }
  hash_ids(inputs);
  hash_ids(outputs);
  return hash.hex();
}

std::shared_ptr<HostTensor> make_host_tensor(DType dtype, Shape shape) {
  auto result = std::make_shared<HostTensor>();
  result->dtype = dtype;
  result->bytes.resize(static_cast<std::size_t>(element_count(shape)) * dtype_bytes(dtype));
  result->shape = std::move(shape);
  return result;
}

namespace {
template <class T>
std::shared_ptr<HostTensor> filled(DType dtype, Shape shape, const std::vector<T>& values) {
  auto result = make_host_tensor(dtype, std::move(shape));
  if (result->bytes.size() != values.size() * sizeof(T)) {
    throw bad_input(std::to_string(values.size()) + " values for a tensor of shape " +
                    shape_text(result->shape));
  }
  if (!values.empty()) std::memcpy(result->bytes.data(), values.data(), result->bytes.size());
  return result;
}
}  // namespace

std::shared_ptr<HostTensor> make_f32(Shape shape, const std::vector<float>& values) {
  return filled(DType::f32, std::move(shape), values);
}

std::shared_ptr<HostTensor> make_i64(Shape shape, const std::vector<std::int64_t>& values) {
  return filled(DType::i64, std::move(shape), values);
}

}  // namespace ddl
