#include "ddl/model/autodiff.h"

#include "ddl/base/error.h"
#include "ddl/model/op.h"

namespace ddl {

TensorId GradientBuilder::output_gradient(TensorId tensor) {
  if (const auto known = totals_.find(tensor); known != totals_.end()) return known->second;
  const auto found = contributions_.find(tensor);
  if (found == contributions_.end()) return kNoTensor;
  const TensorId total =
      found->second.size() == 1 ? found->second.front() : graph_.add("Sum", found->second);
  totals_.emplace(tensor, total);
  return total;
}

bool GradientBuilder::wanted(TensorId tensor) const {
  return tensor >= 0 && static_cast<std::size_t>(tensor) < wanted_.size() &&
         wanted_[static_cast<std::size_t>(tensor)];
}

void GradientBuilder::contribute(TensorId tensor, TensorId gradient) {
  if (graph_.tensor(gradient).shape != graph_.tensor(tensor).shape) {
    throw failure("gradient of '" + graph_.tensor(tensor).name + "' has shape " +
                  shape_text(graph_.tensor(gradient).shape) + ", expected " +
                  shape_text(graph_.tensor(tensor).shape));
  }
  contributions_[tensor].push_back(gradient);
}

std::vector<TensorId> differentiate(Graph& graph, TensorId output, TensorId seed,
                                    const std::vector<TensorId>& targets) {
  if (graph.tensor(seed).shape != graph.tensor(output).shape) {
    throw bad_input("the seed of shape " + shape_text(graph.tensor(seed).shape) +
                    " does not fit output '" + graph.tensor(output).name + "' of shape " +
                    shape_text(graph.tensor(output).shape));
  }
  GradientBuilder builder(graph);
  // Forwards: what depends on a target. Backwards, below: what the output depends on.
  builder.wanted_.assign(graph.tensor_count(), false);
  for (const TensorId target : targets) builder.wanted_[static_cast<std::size_t>(target)] = true;
  const std::size_t forward_nodes = graph.nodes().size();
  for (std::size_t i = 0; i < forward_nodes; ++i) {
    const Node& node = graph.nodes()[i];
    bool depends = false;
    for (const TensorId id : node.inputs) depends = depends || builder.wanted(id);
    if (!depends || !op_definition(node.op).gradient) continue;
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor) builder.wanted_[static_cast<std::size_t>(id)] = true;
    }
  }
  if (!builder.wanted(output)) return std::vector<TensorId>(targets.size(), kNoTensor);

  builder.contributions_[output].push_back(seed);
  for (std::size_t i = forward_nodes; i-- > 0;) {
    if (builder.output_gradient(graph.nodes()[i].outputs[0]) == kNoTensor) continue;
    bool leads_to_target = false;
    for (const TensorId id : graph.nodes()[i].inputs) {
      leads_to_target = leads_to_target || builder.wanted(id);
    }
    const OpDefinition& definition = op_definition(graph.nodes()[i].op);
    if (!leads_to_target || !definition.gradient) continue;
    // Optional outputs that only the backward pass reads (saved means, pooling indices).
    while (static_cast<int>(graph.nodes()[i].outputs.size()) < definition.gradient_outputs) {
      graph.add_output(i);
    }
    const Node node = graph.nodes()[i];  // a copy: the rule appends nodes
    definition.gradient(builder, node);
  }

  std::vector<TensorId> gradients;
  for (const TensorId target : targets) gradients.push_back(builder.output_gradient(target));
  return gradients;
}

}  // namespace ddl
