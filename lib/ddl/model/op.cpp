#include "ddl/model/op.h"

#include "ddl/base/error.h"
#include "ddl/model/ops/rules.h"

namespace ddl {
namespace {

const ops::OpTable& op_table() {
  static const ops::OpTable table = [] {
    ops::OpTable entries;
    ops::add_convolution(entries);
    ops::add_pooling(entries);
    ops::add_normalisation(entries);
    ops::add_matrix(entries);
    ops::add_elementwise(entries);
    ops::add_activation(entries);
    ops::add_reduction(entries);
    ops::add_shape(entries);
    ops::add_indexing(entries);
    ops::add_loss(entries);
    return entries;
  }();
  return table;
}

}  // namespace

const OpDefinition& op_definition(std::string_view name) {
  const auto found = op_table().find(name);
  if (found != op_table().end()) return found->second;
  const std::vector<std::string_view> names = op_names();
  const std::string nearest = nearest_name(name, names.data(), names.data() + names.size());
  throw bad_input("op '" + std::string(name) + "' is not supported",
                  nearest.empty() ? "" : "the nearest supported op is " + nearest);
}

bool op_is_known(std::string_view name) {
  return op_table().contains(name);
}

std::vector<std::string_view> op_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, definition] : op_table()) names.push_back(name);
  return names;
}

double node_flops(const Graph& graph, const Node& node) {
  const OpDefinition& definition = op_definition(node.op);
  if (definition.flops) return definition.flops(graph, node);
  return node.outputs.empty() ? 0 : ops::elements(graph.tensor(node.outputs.front()));
}

double node_bytes(const Graph& graph, const Node& node) {
  double bytes = 0;
  const auto count = [&](TensorId id) {
    if (id == kNoTensor) return;
    const Tensor& tensor = graph.tensor(id);
    bytes += ops::elements(tensor) * static_cast<double>(dtype_bytes(tensor.dtype));
  };
  for (const TensorId id : node.inputs) count(id);
  for (const TensorId id : node.outputs) count(id);
  return bytes;
}

}  // namespace ddl
