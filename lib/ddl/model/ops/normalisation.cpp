// Batch and layer normalisation.
//   batch: y = (x - mean_c) / sqrt(var_c + epsilon) * scale_c + bias_c, per channel (axis 1)
//   layer: the same over the axes from `axis` on, with one scale and bias per element of them
#include "ddl/base/error.h"
#include "ddl/model/ops/rules.h"

namespace ddl::ops {
namespace {

std::int64_t channels(const Tensor& x) {
  require_f32(x);
  require(x.shape.size() >= 2, "the input has " + std::to_string(x.shape.size()) +
                                   " axes, expected 2 or more (samples, channels, …)");
  return x.shape[1];
}

double epsilon(const Node& node) {
  const double value = node.real("epsilon", 1e-5);
  require(value >= 0 && value < 1, "epsilon is " + std::to_string(value));
  return value;
}

void infer_batch(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  static const char* const kNames[] = {"the input", "the scale", "the bias", "the mean",
                                       "the variance"};
  const Tensor& x = input(graph, node, 0);
  const std::int64_t count = channels(x);
  epsilon(node);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    require_f32(input(graph, node, i));
    require_shape(input(graph, node, i), {count}, kNames[i]);
  }
  set(outputs[0], DType::f32, x.shape);
  for (std::size_t i = 1; i < outputs.size(); ++i) set(outputs[i], DType::f32, {count});
}

void infer_batch_grad(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 0);
  const std::int64_t count = channels(x);
  require_shape(input(graph, node, 1), x.shape, "the gradient");
  for (std::size_t i = 2; i < 5; ++i) {
    require_shape(input(graph, node, i), {count}, "a per-channel operand");
  }
  set(outputs[0], DType::f32, x.shape);
  for (std::size_t i = 1; i < outputs.size(); ++i) set(outputs[i], DType::f32, {count});
}

void batch_training_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  const auto gradients = builder.graph().add_node(
      "BatchNormGrad", {node.inputs[0], dy, node.inputs[1], node.outputs[1], node.outputs[2]},
      {{"epsilon", epsilon(node)}}, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    if (builder.wanted(node.inputs[i])) builder.contribute(node.inputs[i], gradients[i]);
  }
}

// With fixed statistics y = (x - mean) * r * scale + bias with r = 1 / sqrt(var + epsilon): an
// affine map, differentiated in pieces.
void batch_inference_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const Shape shape = graph.tensor(node.inputs[0]).shape;
  Shape per_channel(shape.size(), 1);
  per_channel[1] = shape[1];
  const auto spread = [&](TensorId id) {
    return graph.add("Reshape", {id}, {{"shape", per_channel}});
  };
  const auto summed = [&](TensorId id) {
    return graph.add("Reshape", {graph.add("ReduceSumTo", {id}, {{"shape", per_channel}})},
                     {{"shape", Shape{shape[1]}}});
  };
  const TensorId variance = graph.add("Add", {node.inputs[4], scalar(graph, epsilon(node))});
  const TensorId inverse = spread(graph.add("Reciprocal", {graph.add("Sqrt", {variance})}));
  if (builder.wanted(node.inputs[0])) {
    const TensorId factor = graph.add("Mul", {spread(node.inputs[1]), inverse});
    builder.contribute(node.inputs[0], graph.add("Mul", {dy, factor}));
  }
  if (builder.wanted(node.inputs[1])) {
    const TensorId centred = graph.add("Sub", {node.inputs[0], spread(node.inputs[3])});
    const TensorId normalised = graph.add("Mul", {centred, inverse});
    builder.contribute(node.inputs[1], summed(graph.add("Mul", {dy, normalised})));
  }
  if (builder.wanted(node.inputs[2])) builder.contribute(node.inputs[2], summed(dy));
}

struct LayerShapes {
  Shape normalised, statistics;
};

LayerShapes layer_shapes(const Node& node, const Tensor& x) {
  require_f32(x);
  const std::size_t axis = resolve_axis(node.integer("axis", -1), x.shape.size());
  LayerShapes shapes;
  shapes.normalised.assign(x.shape.begin() + static_cast<std::ptrdiff_t>(axis), x.shape.end());
  shapes.statistics = x.shape;
  std::fill(shapes.statistics.begin() + static_cast<std::ptrdiff_t>(axis), shapes.statistics.end(),
            1);
  require(element_count(shapes.normalised) > 0, "there is nothing to normalise over");
  epsilon(node);
  return shapes;
}

void infer_layer(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 0);
  const LayerShapes shapes = layer_shapes(node, x);
  require_shape(input(graph, node, 1), shapes.normalised, "the scale");
  if (has_input(node, 2)) require_shape(input(graph, node, 2), shapes.normalised, "the bias");
  set(outputs[0], DType::f32, x.shape);
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    set(outputs[i], DType::f32, shapes.statistics);
  }
}

void infer_layer_grad(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 0);
  const LayerShapes shapes = layer_shapes(node, x);
  require_shape(input(graph, node, 1), x.shape, "the gradient");
  require_shape(input(graph, node, 2), shapes.normalised, "the scale");
  require_shape(input(graph, node, 3), shapes.statistics, "the mean");
  require_shape(input(graph, node, 4), shapes.statistics, "the inverse deviation");
  set(outputs[0], DType::f32, x.shape);
  for (std::size_t i = 1; i < outputs.size(); ++i) {
    set(outputs[i], DType::f32, shapes.normalised);
  }
}

void layer_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  const auto gradients = builder.graph().add_node(
      "LayerNormGrad", {node.inputs[0], dy, node.inputs[1], node.outputs[1], node.outputs[2]},
      node.attributes, 3);
  for (std::size_t i = 0; i < 3; ++i) {
    if (has_input(node, i) && builder.wanted(node.inputs[i])) {
      builder.contribute(node.inputs[i], gradients[i]);
    }
  }
}

// Operations per element of the input.
std::function<double(const Graph&, const Node&)> per_element(double count) {
  return [count](const Graph& graph, const Node& node) {
    return count * elements(input(graph, node, 0));
  };
}

}  // namespace

void add_normalisation(OpTable& table) {
  // Inference folds to a multiply-add; training adds two passes for mean and variance.
  add(table,
      {"BatchNormalization", 5, 5, 1, 1, infer_batch, batch_inference_gradient, per_element(2)});
  add(table,
      {"BatchNormTraining", 3, 3, 3, 3, infer_batch, batch_training_gradient, per_element(7)});
  add(table, {"BatchNormGrad", 5, 5, 3, 1, infer_batch_grad, {}, per_element(11)});
  add(table, {"LayerNormalization", 2, 3, 3, 3, infer_layer, layer_gradient, per_element(7)});
  add(table, {"LayerNormGrad", 5, 5, 3, 1, infer_layer_grad, {}, per_element(14)});
}

}  // namespace ddl::ops
