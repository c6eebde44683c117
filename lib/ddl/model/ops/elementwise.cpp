// Arithmetic with broadcasting, sums of gradients, and functions of one element.
#include "ddl/base/error.h"
#include "ddl/model/ops/rules.h"

#include <numbers>

namespace ddl::ops {
namespace {

void infer_binary(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& a = input(graph, node, 0);
  const Tensor& b = input(graph, node, 1);
  require(a.dtype == b.dtype, "operands of " + std::string(dtype_name(a.dtype)) + " and " +
                                  std::string(dtype_name(b.dtype)));
  set(outputs[0], a.dtype, broadcast(a.shape, b.shape));
}

void contribute_reduced(GradientBuilder& builder, TensorId to, TensorId gradient) {
  builder.contribute(to, reduced_to(builder, gradient, to));
}

void add_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  for (const TensorId operand : node.inputs) {
    if (builder.wanted(operand)) contribute_reduced(builder, operand, dy);
  }
}

void sub_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  if (builder.wanted(node.inputs[0])) contribute_reduced(builder, node.inputs[0], dy);
  if (builder.wanted(node.inputs[1])) {
    const TensorId summed = reduced_to(builder, dy, node.inputs[1]);
    builder.contribute(node.inputs[1], builder.graph().add("Neg", {summed}));
  }
}

void mul_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const TensorId a = node.inputs[0], b = node.inputs[1];
  if (builder.wanted(a)) contribute_reduced(builder, a, graph.add("Mul", {dy, b}));
  if (builder.wanted(b)) contribute_reduced(builder, b, graph.add("Mul", {dy, a}));
}

// y = a / b: da = dy / b, db = -dy * y / b
void div_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const TensorId a = node.inputs[0], b = node.inputs[1];
  const TensorId quotient = graph.add("Div", {dy, b});
  if (builder.wanted(a)) contribute_reduced(builder, a, quotient);
  if (builder.wanted(b)) {
    const TensorId product = graph.add("Mul", {quotient, node.outputs[0]});
    builder.contribute(b, graph.add("Neg", {reduced_to(builder, product, b)}));
  }
}

void infer_sum(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& first = input(graph, node, 0);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    require_f32(input(graph, node, i));
    require_shape(input(graph, node, i), first.shape, "operand " + std::to_string(i));
  }
  set(outputs[0], DType::f32, first.shape);
}

double sum_flops(const Graph& graph, const Node& node) {
  return static_cast<double>(node.inputs.size() - 1) * elements(input(graph, node, 0));
}

void infer_unary(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  require_f32(input(graph, node, 0));
  same_as_first_input(graph, node, outputs);
}

using Rule = TensorId (*)(Graph&, TensorId dy, TensorId x, TensorId y);

// A gradient that is a formula of dy, x and y.
std::function<void(GradientBuilder&, const Node&)> formula(Rule rule) {
  return [rule](GradientBuilder& builder, const Node& node) {
    const TensorId dy = builder.output_gradient(node.outputs[0]);
    builder.contribute(node.inputs[0], rule(builder.graph(), dy, node.inputs[0], node.outputs[0]));
  };
}

TensorId exp_rule(Graph& graph, TensorId dy, TensorId, TensorId y) {
  return graph.add("Mul", {dy, y});
}
TensorId log_rule(Graph& graph, TensorId dy, TensorId x, TensorId) {
  return graph.add("Div", {dy, x});
}
TensorId sqrt_rule(Graph& graph, TensorId dy, TensorId, TensorId y) {
  return graph.add("Div", {graph.add("Mul", {dy, scalar(graph, 0.5)}), y});
}
TensorId neg_rule(Graph& graph, TensorId dy, TensorId, TensorId) {
  return graph.add("Neg", {dy});
}
TensorId reciprocal_rule(Graph& graph, TensorId dy, TensorId, TensorId y) {
  return graph.add("Neg", {graph.add("Mul", {dy, graph.add("Mul", {y, y})})});
}
// erf' = 2 / sqrt(pi) * exp(-x^2)
TensorId erf_rule(Graph& graph, TensorId dy, TensorId x, TensorId) {
  const TensorId bell = graph.add("Exp", {graph.add("Neg", {graph.add("Mul", {x, x})})});
  const TensorId factor = scalar(graph, 2 * std::numbers::inv_sqrtpi);
  return graph.add("Mul", {dy, graph.add("Mul", {bell, factor})});
}

}  // namespace

void add_elementwise(OpTable& table) {
  add(table, {"Add", 2, 2, 1, 1, infer_binary, add_gradient, {}});
  add(table, {"Sub", 2, 2, 1, 1, infer_binary, sub_gradient, {}});
  add(table, {"Mul", 2, 2, 1, 1, infer_binary, mul_gradient, {}});
  add(table, {"Div", 2, 2, 1, 1, infer_binary, div_gradient, {}});
  add(table, {"Sum", 1, -1, 1, 1, infer_sum, add_gradient, sum_flops});
  add(table, {"Exp", 1, 1, 1, 1, infer_unary, formula(exp_rule), {}});
  add(table, {"Log", 1, 1, 1, 1, infer_unary, formula(log_rule), {}});
  add(table, {"Sqrt", 1, 1, 1, 1, infer_unary, formula(sqrt_rule), {}});
  add(table, {"Neg", 1, 1, 1, 1, infer_unary, formula(neg_rule), {}});
  add(table, {"Reciprocal", 1, 1, 1, 1, infer_unary, formula(reciprocal_rule), {}});
  add(table, {"Erf", 1, 1, 1, 1, infer_unary, formula(erf_rule), {}});
}

}  // namespace ddl::ops
