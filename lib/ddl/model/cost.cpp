#include "ddl/model/cost.h"

#include "ddl/model/op.h"

#include <set>

namespace ddl {
namespace {

struct Work {
  double flops = 0, bytes = 0;
};

Work training_work(const Graph& model, LossKind loss, std::int64_t samples) {
  const TrainingGraph training = make_training_graph(model.with_batch(samples), loss);
  Work work;
  for (const Node& node : training.graph.nodes()) {
    work.flops += node_flops(training.graph, node);
    work.bytes += node_bytes(training.graph, node);
  }
  return work;
}

}  // namespace

ModelCost model_cost(const Graph& model, LossKind loss) {
  const Graph one = model.with_batch(1);
  ModelCost cost;
  std::set<TensorId> counted;  // a shared parameter belongs to the first layer that uses it
  for (const Node& node : one.nodes()) {
    LayerCost layer;
    layer.node = node.name;
    layer.op = node.op;
    layer.output_shape = shape_text(one.tensor(node.outputs.front()).shape);
    for (const TensorId id : node.inputs) {
      if (id == kNoTensor || one.tensor(id).role != TensorRole::parameter) continue;
      if (counted.insert(id).second) layer.parameters += element_count(one.tensor(id).shape);
    }
    layer.flops = node_flops(one, node);
    for (const TensorId id : node.outputs) {
      if (id == kNoTensor) continue;
      layer.activation_bytes += static_cast<double>(element_count(one.tensor(id).shape)) *
                                static_cast<double>(dtype_bytes(one.tensor(id).dtype));
    }
    cost.forward_flops_per_sample += layer.flops;
    cost.activation_bytes_per_sample += layer.activation_bytes;
    cost.layers.push_back(std::move(layer));
  }
  cost.parameters = one.parameter_count();
  for (const TensorId id : one.buffers()) cost.buffers += element_count(one.tensor(id).shape);
  // What one more sample adds to a task: weights are read and gradients written once a task.
  const Work with_one = training_work(model, loss, 1), with_two = training_work(model, loss, 2);
  cost.training_flops_per_sample = with_two.flops - with_one.flops;
  cost.training_bytes_per_sample = with_two.bytes - with_one.bytes;
  return cost;
}

}  // namespace ddl
