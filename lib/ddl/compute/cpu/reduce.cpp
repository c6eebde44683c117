// Sums, means and their opposite, and softmax. Row-major; the order of each sum is that of the
// input's elements, cut as row_loops.h says where it runs along a row.
#include "ddl/compute/cpu/loops.h"
#include "ddl/compute/cpu/makers.h"
#include "ddl/compute/cpu/row_loops.h"
#include "ddl/compute/cpu/strided.h"

#include <algorithm>

namespace ddl::cpu {
namespace {

// y += sums of x; the plan's operands are y (0) and x (1).
void sum_rows(const StridedPlan& plan, const float* x, float* y) {
  plan.for_each_row([=](const StridedPlan::Row& row) {
    float* to = y + row.offset[0];
    const float* from = x + row.offset[1];
    if (row.step[0] == 0) {
      *to += sum(row.count, from);
    } else {
      accumulate(row.count, from, to);
    }
  });
}

void reduce(Compiler& compiler, const Node& node, const Shape& kept, float divisor) {
  const TensorId x = node.inputs[0], y = node.outputs[0];
  const Shape& shape = compiler.tensor(x).shape;
  const auto count = static_cast<std::size_t>(element_count(kept));
  const StridedPlan plan = StridedPlan::broadcast(shape, {kept, shape});
  compiler.loop("row loop", {compiler.row_major(x), compiler.output(y)},
                [plan, count, divisor](void* const* p, const TaskKey&) {
                  auto* to = static_cast<float*>(p[1]);
                  std::fill_n(to, count, 0.0F);
                  sum_rows(plan, static_cast<const float*>(p[0]), to);
                  if (divisor != 1) divide_by(count, divisor, to, to);
                });
}

void make_sum_to(Compiler& compiler, const Node& node) {
  reduce(compiler, node, compiler.tensor(node.outputs[0]).shape, 1);
}

void make_mean(Compiler& compiler, const Node& node) {
  const Shape& shape = compiler.tensor(node.inputs[0]).shape;
  const auto axes = node.integers("axes");
  Shape kept = shape;
  for (std::int64_t axis : axes) {
    if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
    kept[static_cast<std::size_t>(axis)] = 1;
  }
  if (axes.empty()) kept.assign(shape.size(), 1);
  reduce(compiler, node, kept,
         static_cast<float>(element_count(shape)) /
             static_cast<float>(std::max<std::int64_t>(element_count(kept), 1)));
}

void make_broadcast_to(Compiler& compiler, const Node& node) {
  const Shape& x = compiler.tensor(node.inputs[0]).shape;
  const Shape& y = compiler.tensor(node.outputs[0]).shape;
  const StridedPlan plan = StridedPlan::broadcast(y, {y, x});
  compiler.loop(
      "copy", {compiler.row_major(node.inputs[0]), compiler.output(node.outputs[0])},
      [plan](void* const* p, const TaskKey&) { copy_strided(plan, sizeof(float), p[1], p[0]); });
}

// A softmax's extents: blocks, along the axis, and behind it.
struct Extents {
  std::size_t outer = 1, width = 1, inner = 1;
};

Extents extents(const Compiler& compiler, const Node& node) {
  const Shape& shape = compiler.tensor(node.inputs[0]).shape;
  std::int64_t axis = node.integer("axis", -1);
  if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
  Extents result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto extent = static_cast<std::size_t>(shape[i]);
    const auto position = static_cast<std::int64_t>(i);
    (position < axis ? result.outer : position == axis ? result.width : result.inner) *= extent;
  }
  return result;
}

void make_softmax(Compiler& compiler, const Node& node) {
  const Extents along = extents(compiler, node);
  compiler.loop("row loop", {compiler.row_major(node.inputs[0]), compiler.output(node.outputs[0])},
                [along](void* const* p, const TaskKey&) {
                  const auto* x = static_cast<const float*>(p[0]);
                  auto* y = static_cast<float*>(p[1]);
                  if (along.inner == 1) {
                    softmax_rows(along.outer, along.width, x, y);
                  } else {
                    softmax_strided(along.outer, along.width, along.inner, x, y);
                  }
                });
  compiler.allow_in_place(0, 1);
}

void make_softmax_grad(Compiler& compiler, const Node& node) {
  const Extents along = extents(compiler, node);
  compiler.loop("row loop",
                {compiler.row_major(node.inputs[0]), compiler.row_major(node.inputs[1]),
                 compiler.output(node.outputs[0])},
                [along](void* const* p, const TaskKey&) {
                  const auto* dy = static_cast<const float*>(p[0]);
                  const auto* y = static_cast<const float*>(p[1]);
                  auto* dx = static_cast<float*>(p[2]);
                  if (along.inner == 1) {
                    softmax_slope_rows(along.outer, along.width, dy, y, dx);
                  } else {
                    softmax_slope_strided(along.outer, along.width, along.inner, dy, y, dx);
                  }
                });
  compiler.allow_in_place(0, 2);
}

}  // namespace

void add_reduction(MakerTable& table) {
  table["ReduceSumTo"] = make_sum_to;
  table["ReduceMean"] = make_mean;
  table["BroadcastTo"] = make_broadcast_to;
  table["Softmax"] = make_softmax;
  table["SoftmaxGrad"] = make_softmax_grad;
}

}  // namespace ddl::cpu
