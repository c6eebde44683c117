// Slices and look-ups: parts of a tensor by position.
#include "ddl/base/error.h"
#include "ddl/model/ops/rules.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace ddl::ops {
namespace {

// ONNX's clamping for positive steps: starts and ends count from the back when negative.
Shape sliced(const Node& node, const Shape& x) {
  const auto starts = node.integers("starts"), ends = node.integers("ends");
  std::vector<std::int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = node.integers("axes", all);
  const auto steps = node.integers("steps", std::vector<std::int64_t>(starts.size(), 1));
  require(
      starts.size() == ends.size() && starts.size() == axes.size() && starts.size() == steps.size(),
      "starts, ends, axes and steps differ in length");
  Shape shape = x;
  std::set<std::size_t> seen;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = resolve_axis(axes[i], x.size());
    require(seen.insert(axis).second, "axis " + std::to_string(axes[i]) + " is sliced twice");
    require(steps[i] > 0,
            "a step of " + std::to_string(steps[i]) + " is not supported; steps must be positive");
    const std::int64_t extent = x[axis];
    const auto clamped = [extent](std::int64_t position) {
      // Negated only when it cannot overflow.
      if (position < 0) position = position < -extent ? 0 : position + extent;
      return std::min(position, extent);
    };
    const std::int64_t start = clamped(starts[i]), end = clamped(ends[i]);
    shape[axis] = start >= end ? 0 : (end - start - 1) / steps[i] + 1;
  }
  return shape;
}

void infer_slice(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 0);
  set(outputs[0], x.dtype, sliced(node, x.shape));
}

void infer_slice_grad(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  shape_from(node, "x_shape", outputs[0]);
  require_f32(input(graph, node, 0));
  require_shape(input(graph, node, 0), sliced(node, outputs[0].shape), "the gradient");
}

void slice_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const TensorId x = node.inputs[0];
  builder.contribute(x, graph.add("SliceGrad", {dy}, with(node, "x_shape", graph.tensor(x).shape)));
}

void require_indices(const Tensor& indices) {
  require(
      indices.dtype == DType::i32 || indices.dtype == DType::i64,
      "the indices are " + std::string(dtype_name(indices.dtype)) + ", expected int32 or int64");
}

void infer_gather(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& table = input(graph, node, 0);
  const Tensor& indices = input(graph, node, 1);
  require_f32(table);
  require_indices(indices);
  require(!table.shape.empty(), "the table is a scalar");
  require(node.integer("axis", 0) == 0, "axis " + std::to_string(node.integer("axis", 0)) +
                                            " is not supported; rows are looked up along axis 0");
  require(table.shape[0] > 0, "the table has no rows");
  Shape shape = indices.shape;
  shape.insert(shape.end(), table.shape.begin() + 1, table.shape.end());
  set(outputs[0], DType::f32, shape);
}

void infer_gather_grad(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& indices = input(graph, node, 0);
  require_indices(indices);
  shape_from(node, "table_shape", outputs[0]);
  require(!outputs[0].shape.empty(), "the table is a scalar");
  Shape shape = indices.shape;
  shape.insert(shape.end(), outputs[0].shape.begin() + 1, outputs[0].shape.end());
  require_shape(input(graph, node, 1), shape, "the gradient");
}

void gather_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId table = node.inputs[0];
  if (!builder.wanted(table)) return;
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  builder.contribute(table, graph.add("GatherGrad", {node.inputs[1], dy},
                                      {{"table_shape", graph.tensor(table).shape}}));
}

double no_flops(const Graph&, const Node&) {
  return 0;
}
double gather_grad_flops(const Graph& graph, const Node& node) {
  return elements(input(graph, node, 1));
}

}  // namespace

void add_indexing(OpTable& table) {
  add(table, {"Slice", 1, 1, 1, 1, infer_slice, slice_gradient, no_flops});
  add(table, {"SliceGrad", 1, 1, 1, 1, infer_slice_grad, {}, no_flops});
  add(table, {"Gather", 2, 2, 1, 1, infer_gather, gather_gradient, no_flops});
  add(table, {"GatherGrad", 2, 2, 1, 1, infer_gather_grad, {}, gather_grad_flops});
}

}  // namespace ddl::ops
