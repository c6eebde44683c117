// Conv and its gradients. FLOPs: 2 * N * M * OH * OW * C/group * kh * kw for each of the three.
#include "ddl/base/error.h"
#include "ddl/model/ops/rules.h"

namespace ddl::ops {
namespace {

// Shape of y for x and w; checks everything that the three ops have in common.
Shape convolution_output(const Node& node, const Shape& x, const Shape& w) {
  require(x.size() == 4, "the input has " + std::to_string(x.size()) +
                             " axes, expected 4 (samples, channels, height, width)");
  require(w.size() == 4, "the weight has " + std::to_string(w.size()) + " axes, expected 4");
  const std::int64_t group = node.integer("group", 1);
  require(group >= 1, "group is " + std::to_string(group));
  require(w[0] > 0 && w[0] % group == 0,
          std::to_string(w[0]) + " output channels in " + std::to_string(group) + " groups");
  require(x[1] % group == 0 && w[1] == x[1] / group,
          std::to_string(x[1]) + " input channels in " + std::to_string(group) +
              " groups do not fit a weight for " + std::to_string(w[1]) + " channels a group");
  const auto extents = window_output(window_of(node, w[2], w[3]), x[2], x[3]);
  return {x[0], w[0], extents[0], extents[1]};
}

void infer_conv(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 0);
  const Tensor& w = input(graph, node, 1);
  require_f32(x);
  require_f32(w);
  const Shape y = convolution_output(node, x.shape, w.shape);
  if (has_input(node, 2)) {
    require_f32(input(graph, node, 2));
    require_shape(input(graph, node, 2), {w.shape[0]}, "the bias");
  }
  set(outputs[0], DType::f32, y);
}

void infer_grad_input(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  shape_from(node, "x_shape", outputs[0]);
  const Shape y = convolution_output(node, outputs[0].shape, input(graph, node, 1).shape);
  require_shape(input(graph, node, 0), y, "the gradient");
}

void infer_grad_weight(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  shape_from(node, "w_shape", outputs[0]);
  const Shape y = convolution_output(node, input(graph, node, 0).shape, outputs[0].shape);
  require_shape(input(graph, node, 1), y, "the gradient");
  if (outputs.size() > 1) set(outputs[1], DType::f32, {outputs[0].shape[0]});
}

void conv_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const TensorId x = node.inputs[0], w = node.inputs[1];
  const bool bias = has_input(node, 2) && builder.wanted(node.inputs[2]);
  if (builder.wanted(x)) {
    builder.contribute(
        x, graph.add("ConvGradInput", {dy, w}, with(node, "x_shape", graph.tensor(x).shape)));
  }
  if (builder.wanted(w) || bias) {
    const auto gradients = graph.add_node(
        "ConvGradWeight", {x, dy}, with(node, "w_shape", graph.tensor(w).shape), bias ? 2 : 1);
    if (builder.wanted(w)) builder.contribute(w, gradients[0]);
    if (bias) builder.contribute(node.inputs[2], gradients[1]);
  }
}

double conv_work(const Tensor& y, const Shape& w) {
  return 2 * elements(y) * static_cast<double>(w[1]) * static_cast<double>(w[2]) *
         static_cast<double>(w[3]);
}

double conv_flops(const Graph& graph, const Node& node) {
  const Tensor& y = graph.tensor(node.outputs[0]);
  return conv_work(y, input(graph, node, 1).shape) + (has_input(node, 2) ? elements(y) : 0);
}

double grad_input_flops(const Graph& graph, const Node& node) {
  return conv_work(input(graph, node, 0), input(graph, node, 1).shape);
}

double grad_weight_flops(const Graph& graph, const Node& node) {
  const Tensor& dy = input(graph, node, 1);
  return conv_work(dy, graph.tensor(node.outputs[0]).shape) +
         (node.outputs.size() > 1 ? elements(dy) : 0);
}

}  // namespace

void add_convolution(OpTable& table) {
  add(table, {"Conv", 2, 3, 1, 1, infer_conv, conv_gradient, conv_flops});
  add(table, {"ConvGradInput", 2, 2, 1, 1, infer_grad_input, {}, grad_input_flops});
  add(table, {"ConvGradWeight", 2, 2, 2, 1, infer_grad_weight, {}, grad_weight_flops});
}

}  // namespace ddl::ops
