// Ops that move elements and compute nothing: zero FLOPs.
#include "ddl/base/error.h"
#include "ddl/model/ops/rules.h"

#include <numeric>

namespace ddl::ops {
namespace {

double no_flops(const Graph&, const Node&) {
  return 0;
}

void infer_reshape(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 0);
  require(node.attributes.contains("shape"), "attribute 'shape' is missing");
  Shape shape = node.integers("shape");
  std::size_t inferred = shape.size();
  Shape known;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) {
      require(axis < x.shape.size(), "axis " + std::to_string(axis) + " keeps an extent that the " +
                                         "input does not have");
      shape[axis] = x.shape[axis];
    }
    if (shape[axis] == -1) {
      require(inferred == shape.size(), "two extents are -1");
      inferred = axis;
    } else {
      known.push_back(shape[axis]);
    }
  }
  const std::int64_t total = element_count(x.shape), rest = element_count(known);
  if (inferred < shape.size()) {
    require(rest > 0 && total % rest == 0, "the elements of " + shape_text(x.shape) +
                                               " do not divide into rows of " +
                                               std::to_string(rest));
    shape[inferred] = total / rest;
  } else {
    require(rest == total, "shape " + shape_text(shape) + " has another number of elements than " +
                               shape_text(x.shape));
  }
  set(outputs[0], x.dtype, shape);
}

// The gradient of Reshape and Flatten: back to the input's shape.
void reshape_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const Shape shape = graph.tensor(node.inputs[0]).shape;
  builder.contribute(node.inputs[0], graph.add("Reshape", {dy}, {{"shape", shape}}));
}

void infer_flatten(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 0);
  const std::int64_t axis = node.integer("axis", 1);
  const auto rank = static_cast<std::int64_t>(x.shape.size());
  require(axis >= -rank && axis <= rank,
          "axis " + std::to_string(axis) + " of " + std::to_string(rank) + " axes");
  const auto split = x.shape.begin() + (axis < 0 ? axis + rank : axis);
  set(outputs[0], x.dtype,
      {element_count(Shape(x.shape.begin(), split)), element_count(Shape(split, x.shape.end()))});
}

std::vector<std::int64_t> permutation(const Node& node, std::size_t rank) {
  std::vector<std::int64_t> reversed(rank);
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  std::vector<std::int64_t> order = node.integers("perm", reversed);
  require(order.size() == rank, "perm has " + std::to_string(order.size()) +
                                    " entries for an input of " + std::to_string(rank) + " axes");
  std::vector<bool> seen(rank, false);
  for (const std::int64_t axis : order) {
    require(axis >= 0 && axis < static_cast<std::int64_t>(rank) &&
                !seen[static_cast<std::size_t>(axis)],
            "perm is not a permutation");
    seen[static_cast<std::size_t>(axis)] = true;
  }
  return order;
}

void infer_transpose(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 0);
  Shape shape;
  for (const std::int64_t axis : permutation(node, x.shape.size())) {
    shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  }
  set(outputs[0], x.dtype, shape);
}

void transpose_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const auto order = permutation(node, graph.tensor(node.inputs[0]).shape.size());
  std::vector<std::int64_t> inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  builder.contribute(node.inputs[0], graph.add("Transpose", {dy}, {{"perm", inverse}}));
}

void infer_concat(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& first = input(graph, node, 0);
  require(node.attributes.contains("axis"), "attribute 'axis' is missing");
  const std::size_t axis = resolve_axis(node.integer("axis", 0), first.shape.size());
  Shape shape = first.shape;
  shape[axis] = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor& operand = input(graph, node, i);
    require(operand.dtype == first.dtype, "operands of different types");
    require(operand.shape.size() == first.shape.size(), "operands of different ranks");
    for (std::size_t other = 0; other < shape.size(); ++other) {
      require(other == axis || operand.shape[other] == first.shape[other],
              "operands differ beside axis " + std::to_string(axis));
    }
    shape[axis] += operand.shape[axis];
  }
  set(outputs[0], first.dtype, shape);
}

void concat_gradient(GradientBuilder& builder, const Node& node) {
  const TensorId dy = builder.output_gradient(node.outputs[0]);
  Graph& graph = builder.graph();
  const std::size_t axis =
      resolve_axis(node.integer("axis", 0), graph.tensor(node.inputs[0]).shape.size());
  std::int64_t start = 0;
  for (const TensorId operand : node.inputs) {
    const std::int64_t end = start + graph.tensor(operand).shape[axis];
    if (builder.wanted(operand)) {
      builder.contribute(operand, graph.add("Slice", {dy},
                                            {{"starts", Shape{start}},
                                             {"ends", Shape{end}},
                                             {"axes", Shape{static_cast<std::int64_t>(axis)}}}));
    }
    start = end;
  }
}

void identity_gradient(GradientBuilder& builder, const Node& node) {
  builder.contribute(node.inputs[0], builder.output_gradient(node.outputs[0]));
}

void infer_cast(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  set(outputs[0], parse_dtype(node.text("to", "float32")), input(graph, node, 0).shape);
}

// Float to float alone carries a gradient.
void cast_gradient(GradientBuilder& builder, const Node& node) {
  if (builder.graph().tensor(node.inputs[0]).dtype == DType::f32) {
    identity_gradient(builder, node);
  }
}

}  // namespace

void add_shape(OpTable& table) {
  add(table, {"Reshape", 1, 1, 1, 1, infer_reshape, reshape_gradient, no_flops});
  add(table, {"Flatten", 1, 1, 1, 1, infer_flatten, reshape_gradient, no_flops});
  add(table, {"Transpose", 1, 1, 1, 1, infer_transpose, transpose_gradient, no_flops});
  add(table, {"Concat", 1, -1, 1, 1, infer_concat, concat_gradient, no_flops});
  add(table, {"Identity", 1, 1, 1, 1, same_as_first_input, identity_gradient, no_flops});
  add(table, {"Cast", 1, 1, 1, 1, infer_cast, cast_gradient, no_flops});
}

}  // namespace ddl::ops
