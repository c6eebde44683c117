// Pools over windows of the last two axes, and over whole images.
#include "ddl/base/error.h"
#include "ddl/model/ops/rules.h"

namespace ddl::ops {
namespace {

Shape pooled(const Node& node, const Tensor& x) {
  require_f32(x);
  require_rank(x, 4, "the input");
  const auto extents = window_output(pooling_window(node), x.shape[2], x.shape[3]);
  return {x.shape[0], x.shape[1], extents[0], extents[1]};
}

void infer_max_pool(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  set(outputs[0], DType::f32, pooled(node, input(graph, node, 0)));
  if (outputs.size() > 1) set(outputs[1], DType::u8, outputs[0].shape);
}

void infer_max_pool_grad(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 1);
  const Shape y = pooled(node, x);
  require_shape(input(graph, node, 0), y, "the gradient");
  require_shape(input(graph, node, 2), y, "the output");
  set(outputs[0], DType::f32, x.shape);
}

void max_pool_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  const TensorId x = node.inputs[0];
  builder.contribute(x,
                     builder.graph().add("MaxPoolGrad", {dy, x, node.outputs[0], node.outputs[1]},
                                         node.attributes));
}

void infer_average_pool(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  set(outputs[0], DType::f32, pooled(node, input(graph, node, 0)));
}

void infer_average_pool_grad(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  shape_from(node, "x_shape", outputs[0]);
  outputs[0].name = "x";
  require_shape(input(graph, node, 0), pooled(node, outputs[0]), "the gradient");
}

void average_pool_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const TensorId x = node.inputs[0];
  builder.contribute(
      x, graph.add("AveragePoolGrad", {dy}, with(node, "x_shape", graph.tensor(x).shape)));
}

void infer_global(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 0);
  require_f32(x);
  require_rank(x, 4, "the input");
  require(x.shape[2] > 0 && x.shape[3] > 0, "the input has no elements to average");
  set(outputs[0], DType::f32, {x.shape[0], x.shape[1], 1, 1});
}

void infer_global_grad(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  shape_from(node, "x_shape", outputs[0]);
  const Shape& x = outputs[0].shape;
  require(x.size() == 4, "x_shape has " + std::to_string(x.size()) + " axes, expected 4");
  require_shape(input(graph, node, 0), {x[0], x[1], 1, 1}, "the gradient");
}

void global_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const TensorId x = node.inputs[0];
  builder.contribute(
      x, graph.add("GlobalAveragePoolGrad", {dy}, {{"x_shape", graph.tensor(x).shape}}));
}

// One operation per window element, for the pool and for its gradient.
double window_flops(const Graph& graph, const Node& node) {
  const bool gradient = node.op.ends_with("Grad");
  const Tensor& y = gradient ? input(graph, node, 0) : graph.tensor(node.outputs[0]);
  const Window window = pooling_window(node);
  return elements(y) * static_cast<double>(window.kernel[0] * window.kernel[1]);
}

double input_flops(const Graph& graph, const Node& node) {
  return elements(input(graph, node, 0));
}

}  // namespace

void add_pooling(OpTable& table) {
  add(table, {"MaxPool", 1, 1, 2, 2, infer_max_pool, max_pool_gradient, window_flops});
  add(table, {"MaxPoolGrad", 4, 4, 1, 1, infer_max_pool_grad, {}, window_flops});
  add(table, {"AveragePool", 1, 1, 1, 1, infer_average_pool, average_pool_gradient, window_flops});
  add(table, {"AveragePoolGrad", 1, 1, 1, 1, infer_average_pool_grad, {}, window_flops});
  add(table, {"GlobalAveragePool", 1, 1, 1, 1, infer_global, global_gradient, input_flops});
  add(table, {"GlobalAveragePoolGrad", 1, 1, 1, 1, infer_global_grad, {}, {}});
}

}  // namespace ddl::ops
