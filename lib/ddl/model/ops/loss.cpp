// Losses, one row per sample (or token), each row times its weight; and their gradients, which
// start the backward pass. No gradient flows through a loss op itself.
#include "ddl/base/error.h"
#include "ddl/model/ops/rules.h"

namespace ddl::ops {
namespace {

// Shape of the rows: all axes of the logits but the last.
Shape check_rows(const Graph& graph, const Node& node) {
  const Tensor& logits = input(graph, node, 0);
  require_f32(logits);
  require(logits.shape.size() >= 2,
          "the logits have " + std::to_string(logits.shape.size()) + " axes, expected 2 or more");
  require(logits.shape.back() > 0, "the logits have no columns");
  const Shape rows(logits.shape.begin(), logits.shape.end() - 1);
  const Tensor& weight = input(graph, node, 2);
  require_f32(weight);
  require_shape(weight, rows, "the weight");
  return rows;
}

Shape check_classes(const Graph& graph, const Node& node) {
  Shape rows = check_rows(graph, node);
  const Tensor& label = input(graph, node, 1);
  require(label.dtype == DType::i64 || label.dtype == DType::i32,
          "the label is " + std::string(dtype_name(label.dtype)) + ", expected int32 or int64");
  require_shape(label, rows, "the label");
  return rows;
}

Shape check_targets(const Graph& graph, const Node& node) {
  Shape rows = check_rows(graph, node);
  const Tensor& target = input(graph, node, 1);
  require_f32(target);
  require_shape(target, input(graph, node, 0).shape, "the target");
  return rows;
}

using Check = Shape (*)(const Graph&, const Node&);

void add_pair(OpTable& table, const std::string& name, Check check, double work) {
  const auto flops = [work](const Graph& graph, const Node& node) {
    return work * elements(input(graph, node, 0));
  };
  add(table, {name,
              3,
              3,
              1,
              1,
              [check](const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
                set(outputs[0], DType::f32, check(graph, node));
              },
              {},
              flops});
  add(table, {name + "Grad",
              3,
              3,
              1,
              1,
              [check](const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
                check(graph, node);
                set(outputs[0], DType::f32, input(graph, node, 0).shape);
              },
              {},
              flops});
}

}  // namespace

void add_loss(OpTable& table) {
  add_pair(table, "SoftmaxCrossEntropy", check_classes, 5);
  add_pair(table, "SigmoidCrossEntropy", check_targets, 8);
  add_pair(table, "SquaredError", check_targets, 3);
}

}  // namespace ddl::ops
