// Sums and means over axes, and their opposite.
#include "ddl/base/error.h"
#include "ddl/model/ops/rules.h"

#include <set>

namespace ddl::ops {
namespace {

void infer_sum_to(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 0);
  require_f32(x);
  shape_from(node, "shape", outputs[0]);
  require(
      broadcast(outputs[0].shape, x.shape) == x.shape,
      "shape " + shape_text(outputs[0].shape) + " does not broadcast to " + shape_text(x.shape));
}

void sum_to_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const Shape shape = graph.tensor(node.inputs[0]).shape;
  builder.contribute(node.inputs[0], graph.add("BroadcastTo", {dy}, {{"shape", shape}}));
}

void infer_broadcast_to(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 0);
  require_f32(x);
  shape_from(node, "shape", outputs[0]);
  require(
      broadcast(x.shape, outputs[0].shape) == outputs[0].shape,
      "shape " + shape_text(x.shape) + " does not broadcast to " + shape_text(outputs[0].shape));
}

void broadcast_to_gradient(GradientBuilder& builder, const Node& node) {
  builder.contribute(node.inputs[0],
                     reduced_to(builder, builder.output_gradient(node.outputs[0]), node.inputs[0]));
}

struct MeanShapes {
  Shape kept, dropped;  // with reduced axes as 1, and without them
  double count = 1;
};

MeanShapes mean_shapes(const Node& node, const Tensor& x) {
  require_f32(x);
  std::set<std::size_t> reduced;
  for (const std::int64_t axis : node.integers("axes")) {
    require(reduced.insert(resolve_axis(axis, x.shape.size())).second,
            "axis " + std::to_string(axis) + " is named twice");
  }
  MeanShapes shapes;
  for (std::size_t axis = 0; axis < x.shape.size(); ++axis) {
    // No axes: over all, as ONNX has it.
    if (reduced.empty() || reduced.contains(axis)) {
      shapes.kept.push_back(1);
      shapes.count *= static_cast<double>(x.shape[axis]);
    } else {
      shapes.kept.push_back(x.shape[axis]);
      shapes.dropped.push_back(x.shape[axis]);
    }
  }
  require(shapes.count > 0, "the mean of no elements");
  return shapes;
}

void infer_mean(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const MeanShapes shapes = mean_shapes(node, input(graph, node, 0));
  set(outputs[0], DType::f32, node.integer("keepdims", 1) != 0 ? shapes.kept : shapes.dropped);
}

void mean_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const Tensor x = graph.tensor(node.inputs[0]);
  const MeanShapes shapes = mean_shapes(node, x);
  TensorId kept = dy;
  if (graph.tensor(dy).shape != shapes.kept) {
    kept = graph.add("Reshape", {dy}, {{"shape", shapes.kept}});
  }
  // A mean has one gradient for each of its elements: divided first, then spread.
  const TensorId divided = graph.add("Mul", {kept, scalar(graph, 1 / shapes.count)});
  builder.contribute(node.inputs[0], graph.add("BroadcastTo", {divided}, {{"shape", x.shape}}));
}

double input_flops(const Graph& graph, const Node& node) {
  return elements(input(graph, node, 0));
}
double no_flops(const Graph&, const Node&) {
  return 0;
}

}  // namespace

void add_reduction(OpTable& table) {
  add(table, {"ReduceSumTo", 1, 1, 1, 1, infer_sum_to, sum_to_gradient, input_flops});
  add(table, {"BroadcastTo", 1, 1, 1, 1, infer_broadcast_to, broadcast_to_gradient, no_flops});
  add(table, {"ReduceMean", 1, 1, 1, 1, infer_mean, mean_gradient, input_flops});
}

}  // namespace ddl::ops
