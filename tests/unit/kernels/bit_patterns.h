// Floats of every kind, from random bits: denormals, infinities and NaN included when asked for.
#pragma once

#include "ddl/base/random.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace ddl::test {

inline float any_finite(Random& random) {
  for (;;) {
    const float value = std::bit_cast<float>(random.next_u32());
    if (std::isfinite(value)) return value;
  }
}

// One value of |g| < 2^exponent, its size uniform over the `octaves` below.
inline float below_power(int exponent, int octaves, Random& random) {
  const int n = exponent - static_cast<int>(random.below(static_cast<std::uint64_t>(octaves)));
  const double mantissa = 0.5 + 0.5 * static_cast<double>(random.below(1U << 23)) / (1U << 23);
  return static_cast<float>(std::ldexp(random.below(2) == 0 ? mantissa : -mantissa, n));
}

// Sizes around the widths of vectors and their multiples.
inline const std::vector<std::size_t>& odd_sizes() {
  static const std::vector<std::size_t> sizes = {0,  1,  2,  3,  7,  8,   9,   15,   16,   17,
                                                 31, 33, 63, 64, 65, 100, 127, 1000, 4095, 4097};
  return sizes;
}

}  // namespace ddl::test
