// Walking several tensors of one shape at once, each with its own strides: broadcasting, slices,
// permutations. Axes that all operands walk alike are merged; what remains is a nest of rows.
//
// Immutable; walking allocates nothing. Strides count elements.
#pragma once

#include "ddl/base/dtype.h"

#include <array>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace ddl::cpu {

class StridedPlan {
 public:
  static constexpr std::size_t kMostAxes = 16, kMostOperands = 3;

  struct Operand {
    std::vector<std::int64_t> strides;  // one per extent
    std::int64_t offset = 0;            // of the first element
  };
  StridedPlan(const Shape& extents, std::initializer_list<Operand> operands);
  // Row-major operands of the given shapes, broadcast to `extents`.
  static StridedPlan broadcast(const Shape& extents, std::initializer_list<Shape> operands);

  struct Row {
    std::size_t count = 0;
    std::array<std::size_t, kMostOperands> offset{}, step{};
  };
  // Calls body(row) for every row, in row-major order of the extents.
  template <class Body>
  void for_each_row(Body&& body) const {
    if (empty_) return;
    Row row;
    row.count = row_count_;
    row.step = row_step_;
    row.offset = first_;
    std::array<std::size_t, kMostAxes> index{};
    while (true) {
      body(static_cast<const Row&>(row));
      std::size_t axis = outer_.size();
      while (axis > 0) {
        const Axis& walked = outer_[--axis];
        for (std::size_t i = 0; i < kMostOperands; ++i) row.offset[i] += walked.strides[i];
        if (++index[axis] < walked.extent) break;
        for (std::size_t i = 0; i < kMostOperands; ++i) {
          row.offset[i] -= walked.extent * walked.strides[i];
        }
        index[axis] = 0;
        if (axis == 0) return;
      }
      if (outer_.empty()) return;
    }
  }

 private:
  struct Axis {
    std::size_t extent = 1;
    std::array<std::size_t, kMostOperands> strides{};
  };
  std::vector<Axis> outer_;
  std::size_t row_count_ = 1;
  std::array<std::size_t, kMostOperands> row_step_{}, first_{};
  bool empty_ = false;
};

std::vector<std::int64_t> row_major_strides(const Shape& shape);
// Strides of a row-major tensor of `shape` when it is broadcast to `extents`.
std::vector<std::int64_t> broadcast_strides(const Shape& shape, const Shape& extents);

// Copies elements of 1, 2, 4 or 8 bytes; operand 0 is the target, operand 1 the source.
void copy_strided(const StridedPlan& plan, std::size_t element_bytes, void* to, const void* from);

}  // namespace ddl::cpu
