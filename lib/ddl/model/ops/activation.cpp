// Activations with gradient ops of their own, Softmax and Dropout.
#include "ddl/base/error.h"
#include "ddl/model/ops/rules.h"

namespace ddl::ops {
namespace {

void infer_unary(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  require_f32(input(graph, node, 0));
  same_as_first_input(graph, node, outputs);
}

void infer_grad(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  require_f32(input(graph, node, 0));
  require_shape(input(graph, node, 1), input(graph, node, 0).shape, "the second operand");
  same_as_first_input(graph, node, outputs);
}

// Gradient op named OPGrad that reads dy and y.
void from_output(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  builder.contribute(node.inputs[0],
                     builder.graph().add(node.op + "Grad", {dy, node.outputs[0]}, node.attributes));
}

// The same with x.
void from_input(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  builder.contribute(node.inputs[0],
                     builder.graph().add(node.op + "Grad", {dy, node.inputs[0]}, node.attributes));
}

void check_approximate(const Node& node) {
  const std::string approximate = node.text("approximate", "none");
  require(approximate == "none" || approximate == "tanh",
          "approximate is '" + approximate + "', expected none or tanh");
}

void infer_gelu(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  check_approximate(node);
  infer_unary(graph, node, outputs);
}

void infer_gelu_grad(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  check_approximate(node);
  infer_grad(graph, node, outputs);
}

void infer_softmax(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  infer_unary(graph, node, outputs);
  const std::size_t axis = resolve_axis(node.integer("axis", -1), outputs[0].shape.size());
  require(outputs[0].shape[axis] > 0, "the axis has no elements");
}

void infer_softmax_grad(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  infer_grad(graph, node, outputs);
  resolve_axis(node.integer("axis", -1), outputs[0].shape.size());
}

double check_ratio(const Node& node) {
  const double ratio = node.real("ratio", 0.5);
  require(ratio >= 0 && ratio < 1,
          "ratio is " + std::to_string(ratio) + ", expected 0 or more and less than 1");
  return ratio;
}

void infer_dropout(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  check_ratio(node);
  require_f32(input(graph, node, 0));
  require(!input(graph, node, 0).shape.empty(), "a scalar has no batch axis");
  same_as_first_input(graph, node, outputs);
  if (outputs.size() > 1) set(outputs[1], DType::u8, outputs[0].shape);
}

void infer_dropout_grad(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  check_ratio(node);
  require(input(graph, node, 1).dtype == DType::u8, "the mask is not uint8");
  infer_grad(graph, node, outputs);
}

void dropout_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  builder.contribute(node.inputs[0], builder.graph().add("DropoutGrad", {dy, node.outputs[1]},
                                                         {{"ratio", check_ratio(node)}}));
}

std::function<double(const Graph&, const Node&)> per_element(double count) {
  return [count](const Graph& graph, const Node& node) {
    return count * elements(input(graph, node, 0));
  };
}

}  // namespace

void add_activation(OpTable& table) {
  add(table, {"Relu", 1, 1, 1, 1, infer_unary, from_output, {}});
  add(table, {"ReluGrad", 2, 2, 1, 1, infer_grad, {}, {}});
  add(table, {"Tanh", 1, 1, 1, 1, infer_unary, from_output, {}});
  add(table, {"TanhGrad", 2, 2, 1, 1, infer_grad, {}, per_element(3)});
  add(table, {"Sigmoid", 1, 1, 1, 1, infer_unary, from_output, per_element(3)});
  add(table, {"SigmoidGrad", 2, 2, 1, 1, infer_grad, {}, per_element(3)});
  add(table, {"Gelu", 1, 1, 1, 1, infer_gelu, from_input, per_element(8)});
  add(table, {"GeluGrad", 2, 2, 1, 1, infer_gelu_grad, {}, per_element(14)});
  add(table, {"Softmax", 1, 1, 1, 1, infer_softmax, from_output, per_element(5)});
  add(table, {"SoftmaxGrad", 2, 2, 1, 1, infer_softmax_grad, {}, per_element(4)});
  add(table, {"Dropout", 1, 1, 2, 2, infer_dropout, dropout_gradient, {}});
  add(table, {"DropoutGrad", 2, 2, 1, 1, infer_dropout_grad, {}, {}});
}

}  // namespace ddl::ops
