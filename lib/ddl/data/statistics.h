// Mean and scale of every column or channel over the train split, in one pass.
//
// Pixels of uint8 are summed as integers; float32 by Welford's recurrence in double, in sample
// order. A column whose standard deviation is within rounding of its size is constant: scale 1.
#pragma once

#include "ddl/artifact/dataset.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ddl {

class FieldStatistics {
 public:
  explicit FieldStatistics(const Field& field);
  void add(std::span<const std::byte> row);  // NaN (missing) is passed over
  Normalisation normalisation() const;
  double mean(std::size_t column) const;
  // Indices of columns (channels) that are constant or nearly so.
  std::vector<std::size_t> constant() const;

 private:
  struct Sums {
    std::uint64_t total = 0, squares = 0;  // uint8
    double count = 0, mean = 0, centred_squares = 0, largest = 0;
  };
  double deviation(const Sums& sums) const;
  bool is_constant(const Sums& sums) const;

  DType dtype_;
  std::size_t run_ = 1;  // values that share one entry
  std::vector<Sums> sums_;
};

}  // namespace ddl
