// Ops that move elements: views where the order stays, copies where it does not.
#include "ddl/base/error.h"
#include "ddl/compute/cpu/makers.h"
#include "ddl/compute/cpu/strided.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>

namespace ddl::cpu {
namespace {

// The same elements in the same order.
void make_view(Compiler& compiler, const Node& node) {
  compiler.alias(node.outputs[0], compiler.row_major(node.inputs[0]));
}

void make_transpose(Compiler& compiler, const Node& node) {
  const TensorId x = node.inputs[0], y = node.outputs[0];
  const Shape &shape = compiler.tensor(x).shape, &result = compiler.tensor(y).shape;
  std::vector<std::int64_t> perm(shape.size());
  std::iota(perm.rbegin(), perm.rend(), 0);
  perm = node.integers("perm", perm);
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  std::vector<std::int64_t> walked;
  for (const std::int64_t axis : perm) walked.push_back(strides[static_cast<std::size_t>(axis)]);
  const ValueId from = compiler.row_major(x);
  const bool keeps_rows = perm.empty() || perm.back() + 1 == static_cast<std::int64_t>(perm.size());
  // oneDNN's transposition works in tiles; whole rows are copied as well without it.
  if (!keeps_rows && compiler.tensor(x).dtype == DType::f32 && shape.size() <= 6 &&
      element_count(shape) > 0) {
    const auto view =
        onednn::strided(onednn::Dims(result.begin(), result.end()),
                        onednn::Dims(walked.begin(), walked.end()), onednn::DataType::f32);
    const auto plain =
        onednn::row_major(onednn::Dims(result.begin(), result.end()), onednn::DataType::f32);
    const dnnl::reorder::primitive_desc change(onednn::engine(), view, onednn::engine(), plain,
                                               onednn::attributes());
    compiler.call<dnnl::reorder>(
        change, {{DNNL_ARG_FROM, from, view}, {DNNL_ARG_TO, compiler.output(y), plain}});
    return;
  }
  const StridedPlan plan(result, {{row_major_strides(result), 0}, {walked, 0}});
  const std::size_t bytes = dtype_bytes(compiler.tensor(x).dtype);
  compiler.loop("copy", {from, compiler.output(y)}, [plan, bytes](void* const* p, const TaskKey&) {
    copy_strided(plan, bytes, p[1], p[0]);
  });
}

void make_concat(Compiler& compiler, const Node& node) {
  const TensorId y = node.outputs[0];
  const Shape& result = compiler.tensor(y).shape;
  std::int64_t axis = node.integer("axis", 0);
  if (axis < 0) axis += static_cast<std::int64_t>(result.size());
  const std::vector<std::int64_t> strides = row_major_strides(result);
  std::vector<ValueId> operands;
  std::vector<StridedPlan> plans;
  std::int64_t start = 0;
  for (const TensorId id : node.inputs) {
    const Shape& shape = compiler.tensor(id).shape;
    plans.push_back(StridedPlan(shape, {{strides, start * strides[static_cast<std::size_t>(axis)]},
                                        {row_major_strides(shape), 0}}));
    start += shape[static_cast<std::size_t>(axis)];
    operands.push_back(compiler.row_major(id));
  }
  operands.push_back(compiler.output(y));
  const std::size_t bytes = dtype_bytes(compiler.tensor(y).dtype);
  compiler.loop("copy", std::move(operands), [plans, bytes](void* const* p, const TaskKey&) {
    for (std::size_t i = 0; i < plans.size(); ++i) {
      copy_strided(plans[i], bytes, p[plans.size()], p[i]);
    }
  });
}

// Where the elements of a slice lie in the whole, row-major.
StridedPlan::Operand slice_of(const Node& node, const Shape& whole) {
  const auto starts = node.integers("starts");
  std::vector<std::int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = node.integers("axes", all);
  const auto steps = node.integers("steps", std::vector<std::int64_t>(starts.size(), 1));
  StridedPlan::Operand operand{row_major_strides(whole), 0};
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto axis = static_cast<std::size_t>(
        axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(whole.size()) : axes[i]);
    const std::int64_t extent = whole[axis];
    std::int64_t start = starts[i];
    if (start < 0) start = start < -extent ? 0 : start + extent;
    operand.offset += std::min(start, extent) * operand.strides[axis];
    operand.strides[axis] *= steps[i];
  }
  return operand;
}

void make_slice(Compiler& compiler, const Node& node) {
  const TensorId x = node.inputs[0], y = node.outputs[0];
  const Shape& part = compiler.tensor(y).shape;
  const StridedPlan plan(part,
                         {{row_major_strides(part), 0}, slice_of(node, compiler.tensor(x).shape)});
  const std::size_t bytes = dtype_bytes(compiler.tensor(x).dtype);
  compiler.loop(
      "copy", {compiler.row_major(x), compiler.output(y)},
      [plan, bytes](void* const* p, const TaskKey&) { copy_strided(plan, bytes, p[1], p[0]); });
}

void make_slice_grad(Compiler& compiler, const Node& node) {
  const TensorId dy = node.inputs[0], dx = node.outputs[0];
  const Shape &part = compiler.tensor(dy).shape, &whole = compiler.tensor(dx).shape;
  const StridedPlan plan(part, {slice_of(node, whole), {row_major_strides(part), 0}});
  const auto bytes = static_cast<std::size_t>(element_count(whole)) * sizeof(float);
  compiler.loop("copy", {compiler.row_major(dy), compiler.output(dx)},
                [plan, bytes](void* const* p, const TaskKey&) {
                  if (bytes > 0) std::memset(p[1], 0, bytes);
                  copy_strided(plan, sizeof(float), p[1], p[0]);
                });
}

// To integers: towards zero, the nearest end of the range for what lies beyond it, 0 for NaN.
template <class To, class From>
To cast_value(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                !std::is_same_v<To, bool>) {
    // The upper end may round up to one past the range.
    if (!(value == value)) return 0;
    if (value <= static_cast<From>(std::numeric_limits<To>::min())) {
      return std::numeric_limits<To>::min();
    }
    if (value >= static_cast<From>(std::numeric_limits<To>::max())) {
      return std::numeric_limits<To>::max();
    }
  }
  return static_cast<To>(value);
}

template <class From, class To>
void cast_loop(Compiler& compiler, const Node& node) {
  const auto count =
      static_cast<std::size_t>(element_count(compiler.tensor(node.outputs[0]).shape));
  compiler.loop("cast", {compiler.row_major(node.inputs[0]), compiler.output(node.outputs[0])},
                [count](void* const* p, const TaskKey&) {
                  const auto* from = static_cast<const From*>(p[0]);
                  auto* to = static_cast<To*>(p[1]);
                  for (std::size_t i = 0; i < count; ++i) to[i] = cast_value<To>(from[i]);
                });
}

template <class From>
void cast_from(Compiler& compiler, const Node& node, DType to) {
  switch (to) {
    case DType::f32:
      return cast_loop<From, float>(compiler, node);
    case DType::f64:
      return cast_loop<From, double>(compiler, node);
    case DType::u8:
      return cast_loop<From, std::uint8_t>(compiler, node);
    case DType::i8:
      return cast_loop<From, std::int8_t>(compiler, node);
    case DType::u16:
      return cast_loop<From, std::uint16_t>(compiler, node);
    case DType::i16:
      return cast_loop<From, std::int16_t>(compiler, node);
    case DType::i32:
      return cast_loop<From, std::int32_t>(compiler, node);
    case DType::i64:
      return cast_loop<From, std::int64_t>(compiler, node);
    case DType::boolean:
      return cast_loop<From, bool>(compiler, node);
    case DType::bf16:
    case DType::f16:
      break;
  }
  throw bad_input("a cast to " + std::string(dtype_name(to)) + " is not supported");
}

void make_cast(Compiler& compiler, const Node& node) {
  const DType from = compiler.tensor(node.inputs[0]).dtype;
  const DType to = compiler.tensor(node.outputs[0]).dtype;
  if (from == to) return make_view(compiler, node);
  switch (from) {
    case DType::f32:
      return cast_from<float>(compiler, node, to);
    case DType::f64:
      return cast_from<double>(compiler, node, to);
    case DType::u8:
    case DType::boolean:
      return cast_from<std::uint8_t>(compiler, node, to);
    case DType::i8:
      return cast_from<std::int8_t>(compiler, node, to);
    case DType::u16:
      return cast_from<std::uint16_t>(compiler, node, to);
    case DType::i16:
      return cast_from<std::int16_t>(compiler, node, to);
    case DType::i32:
      return cast_from<std::int32_t>(compiler, node, to);
    case DType::i64:
      return cast_from<std::int64_t>(compiler, node, to);
    case DType::bf16:
    case DType::f16:
      break;
  }
  throw bad_input("a cast from " + std::string(dtype_name(from)) + " is not supported");
}

}  // namespace

void add_movement(MakerTable& table) {
  table["Reshape"] = make_view;
  table["Flatten"] = make_view;
  table["Identity"] = make_view;
  table["Cast"] = make_cast;
  table["Transpose"] = make_transpose;
  table["Concat"] = make_concat;
  table["Slice"] = make_slice;
  table["SliceGrad"] = make_slice_grad;
}

}  // namespace ddl::cpu
