#include "ddl/compute/cpu/strided.h"

#include "ddl/base/error.h"

#include <cstdint>
#include <cstring>
#include <string>

namespace ddl::cpu {

std::vector<std::int64_t> row_major_strides(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * shape[axis];
  }
  return strides;
}

std::vector<std::int64_t> broadcast_strides(const Shape& shape, const Shape& extents) {
  const std::vector<std::int64_t> own = row_major_strides(shape);
  std::vector<std::int64_t> strides(extents.size(), 0);
  const std::size_t skipped = extents.size() - shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    strides[axis + skipped] = shape[axis] == 1 ? 0 : own[axis];
  }
  return strides;
}

StridedPlan StridedPlan::broadcast(const Shape& extents, std::initializer_list<Shape> operands) {
  std::array<Operand, kMostOperands> all{};
  std::size_t count = 0;
  for (const Shape& shape : operands) all[count++].strides = broadcast_strides(shape, extents);
  if (count == 2) return {extents, {all[0], all[1]}};
  return {extents, {all[0], all[1], all[2]}};
}

StridedPlan::StridedPlan(const Shape& extents, std::initializer_list<Operand> operands) {
  std::vector<Axis> axes;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 0) empty_ = true;
    if (extents[axis] == 1) continue;
    Axis walked;
    walked.extent = static_cast<std::size_t>(extents[axis]);
    std::size_t i = 0;
    for (const Operand& operand : operands) {
      walked.strides[i++] = static_cast<std::size_t>(operand.strides[axis]);
    }
    // The axis before this one continues where this one ends, for all operands?
    const bool merges = !axes.empty() && [&] {
      for (std::size_t k = 0; k < kMostOperands; ++k) {
        if (axes.back().strides[k] != walked.strides[k] * walked.extent) return false;
      }
      return true;
    }();
    if (merges) {
      walked.extent *= axes.back().extent;
      axes.back() = walked;
    } else {
      axes.push_back(walked);
    }
  }
  std::size_t i = 0;
  for (const Operand& operand : operands) first_[i++] = static_cast<std::size_t>(operand.offset);
  if (!axes.empty()) {
    row_count_ = axes.back().extent;
    row_step_ = axes.back().strides;
    axes.pop_back();
  }
  if (axes.size() > kMostAxes) {
    throw bad_input("a tensor of " + std::to_string(extents.size()) + " axes");
  }
  outer_ = std::move(axes);
}

namespace {

template <class Element>
void copy_as(const StridedPlan& plan, void* to, const void* from) {
  auto* target = static_cast<Element*>(to);
  const auto* source = static_cast<const Element*>(from);
  plan.for_each_row([=](const StridedPlan::Row& row) {
    Element* out = target + row.offset[0];
    const Element* in = source + row.offset[1];
    if (row.step[0] == 1 && row.step[1] == 1) {
      std::memcpy(out, in, row.count * sizeof(Element));
    } else if (row.step[0] == 1 && row.step[1] == 0) {
      for (std::size_t i = 0; i < row.count; ++i) out[i] = *in;
    } else {
      for (std::size_t i = 0; i < row.count; ++i) out[i * row.step[0]] = in[i * row.step[1]];
    }
  });
}

}  // namespace

void copy_strided(const StridedPlan& plan, std::size_t element_bytes, void* to, const void* from) {
  switch (element_bytes) {
    case 1:
      return copy_as<std::uint8_t>(plan, to, from);
    case 2:
      return copy_as<std::uint16_t>(plan, to, from);
    case 4:
      return copy_as<std::uint32_t>(plan, to, from);
    default:
      return copy_as<std::uint64_t>(plan, to, from);
  }
}

}  // namespace ddl::cpu
