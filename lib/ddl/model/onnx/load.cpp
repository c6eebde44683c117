// An ONNX model to a graph: parsed, imported for two batch sizes, and made independent of both.
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/model/onnx.h"
#include "ddl/model/onnx/importer.h"
#include "ddl/model/onnx/metadata.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace ddl {
namespace {

constexpr std::int64_t kOldestOpset = 7, kNewestOpset = 22;
constexpr int kMostNodes = 1 << 20;

onnx::ModelProto parse(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes =
      read_bytes(file, static_cast<std::size_t>(std::numeric_limits<int>::max()));
  onnx::ModelProto model;
  if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !model.has_graph()) {
    throw bad_input("is not an ONNX model, or is damaged",
                    "write one with ddl-model write or export it again");
  }
  if (model.graph().node_size() > kMostNodes) {
    throw bad_input("has " + std::to_string(model.graph().node_size()) + " nodes, more than " +
                    std::to_string(kMostNodes));
  }
  return model;
}

std::int64_t opset_of(const onnx::ModelProto& model) {
  std::int64_t version = 0;
  for (const auto& opset : model.opset_import()) {
    if (opset.domain().empty() || opset.domain() == "ai.onnx") version = opset.version();
  }
  if (version < kOldestOpset || version > kNewestOpset) {
    throw bad_input("opset " + std::to_string(version) + " is not supported",
                    "export with opset " + std::to_string(kOldestOpset) + " to " +
                        std::to_string(kNewestOpset) + " (17 is best)");
  }
  return version;
}

// A target shape for any batch from those for two: extents that differ are the batch's. Where the
// input has the batch on the same axis it is kept (0), elsewhere it follows from the rest (-1).
Shape unified_shape(const Shape& first, const Shape& second, const Shape& input,
                    std::int64_t batch) {
  Shape shape = first;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (first[axis] == second[axis]) continue;
    const bool kept = axis < input.size() && input[axis] == batch && first[axis] == batch;
    shape[axis] = kept ? 0 : -1;
  }
  if (std::count(shape.begin(), shape.end(), -1) > 1) {
    throw bad_input("two extents of its target shape depend on the batch",
                    "export with fixed shapes (every axis but the batch)");
  }
  return shape;
}

std::string pointer_of(const Node& node) {
  return "node '" + node.name + "' (" + node.op + ")";
}

// Makes `graph` (imported for `batch`) hold for any batch, with the pass for another as witness.
void unify(Graph& graph, const Graph& other, std::int64_t batch) {
  const auto mismatch = [](const Node& node) {
    throw bad_input("its form depends on the batch size",
                    "export with fixed shapes (every axis but the batch)")
        .with_pointer(pointer_of(node));
  };
  if (graph.nodes().size() != other.nodes().size() ||
      graph.tensor_count() != other.tensor_count()) {
    throw bad_input("the model's structure depends on the batch size");
  }
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    Node& node = graph.nodes()[i];
    const Node& witness = other.nodes()[i];
    if (node.op != witness.op || node.inputs != witness.inputs) mismatch(node);
    if (node.attributes == witness.attributes) continue;
    if (node.op != "Reshape") mismatch(node);
    const Shape first = node.integers("shape"), second = witness.integers("shape");
    if (first.size() != second.size()) mismatch(node);
    try {
      node.attributes["shape"] =
          unified_shape(first, second, graph.tensor(node.inputs[0]).shape, batch);
    } catch (Error& error) {
      throw error.with_pointer(pointer_of(node));
    }
  }
  for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
    const Tensor& tensor = graph.tensor(static_cast<TensorId>(i));
    const Tensor& witness = other.tensor(static_cast<TensorId>(i));
    if (tensor.role != witness.role ||
        (tensor.role == TensorRole::constant && tensor.value->bytes != witness.value->bytes)) {
      throw bad_input("the value of '" + tensor.name + "' depends on the batch size");
    }
  }
}

// A model exported for one batch size: a target shape that begins with it means the batch.
void free_batch(Graph& graph, std::int64_t batch) {
  for (Node& node : graph.nodes()) {
    if (node.op != "Reshape") continue;
    Shape shape = node.integers("shape");
    const Shape& input = graph.tensor(node.inputs[0]).shape;
    if (!shape.empty() && shape[0] == batch && !input.empty() && input[0] == batch) shape[0] = 0;
    node.attributes["shape"] = shape;
  }
}

// Helpers that fusion left without a use.
void drop_unused(Graph& graph) {
  std::set<TensorId> needed(graph.outputs.begin(), graph.outputs.end());
  std::vector<Node> kept;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    if (std::none_of(node->outputs.begin(), node->outputs.end(),
                     [&](TensorId id) { return needed.contains(id); })) {
      continue;
    }
    needed.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes() = std::move(kept);
}

// The same graph with the tensors that nothing uses left out (fused constants and helpers); inputs,
// parameters and buffers stay, in order.
Graph compacted(const Graph& graph) {
  std::set<TensorId> used(graph.outputs.begin(), graph.outputs.end());
  for (const Node& node : graph.nodes()) {
    used.insert(node.inputs.begin(), node.inputs.end());
  }
  Graph result;
  result.name = graph.name;
  std::map<TensorId, TensorId> moved{{kNoTensor, kNoTensor}};
  for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const Tensor& tensor = graph.tensor(id);
    if (tensor.role == TensorRole::intermediate) continue;
    if (tensor.role == TensorRole::constant && !used.contains(id)) continue;
    moved[id] = result.add_tensor(tensor);
  }
  for (const TensorId id : graph.inputs) result.inputs.push_back(moved.at(id));
  for (const Node& node : graph.nodes()) {
    std::vector<TensorId> inputs;
    for (const TensorId id : node.inputs) inputs.push_back(moved.at(id));
    const auto outputs = result.add_node(node.op, inputs, node.attributes,
                                         static_cast<int>(node.outputs.size()), node.name);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      moved[node.outputs[i]] = outputs[i];
      const std::string& name = graph.tensor(node.outputs[i]).name;
      // A helper name given just now may be the file's name of another tensor.
      if (const TensorId taken = result.find(name); taken != kNoTensor && taken != outputs[i]) {
        result.rename(taken, name + "#moved");
      }
      result.rename(outputs[i], name);
    }
  }
  for (const TensorId id : graph.outputs) result.outputs.push_back(moved.at(id));
  return result;
}

}  // namespace

ImportedModel load_onnx(const std::filesystem::path& file) try {
  const onnx::ModelProto model = parse(file);
  const std::int64_t opset = opset_of(model);
  ImportedModel imported;
  imported.metadata = onnx_io::read_metadata(model);
  bool unbake = false;
  for (const auto& entry : model.metadata_props()) {
    unbake = unbake || (entry.key() == onnx_io::kBakedKey && entry.value() == "true");
  }
  const onnx_io::Initialisers initialisers =
      onnx_io::read_initialisers(model.graph(), file.parent_path());
  const std::int64_t declared = onnx_io::declared_batch(model.graph());
  const auto pass = [&](std::int64_t batch) {
    return onnx_io::Importer(model, initialisers, opset, batch, unbake).run();
  };
  // Two primes that no layer is likely to have as a size.
  const std::int64_t first = 251, second = 257;
  Graph graph = pass(declared == 0 ? first : declared);
  if (declared == 0) {
    unify(graph, pass(second), first);
  } else {
    free_batch(graph, declared);
  }
  drop_unused(graph);
  // Any batch must do: a shape rule that fails names its node.
  imported.graph = compacted(graph).with_batch(2).with_batch(1);
  return imported;
} catch (Error& error) {
  throw error.with_file(file.string());
}

}  // namespace ddl
