#include "kernels/exact.h"

// Each loop is compiled for several vector widths and chosen when the program starts. Every
// operation in them is exact or correctly rounded and none depends on its neighbours, so that the
// bits are the same.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
#define DDL_VECTOR_WIDTHS \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"), optimize("O3")))
#else
#define DDL_VECTOR_WIDTHS
#endif

namespace ddl::kernels {

DDL_VECTOR_WIDTHS
std::uint32_t largest_magnitude_bits(const float* values, std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = magnitude_bits(values[i]);
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

DDL_VECTOR_WIDTHS
static void quantise_add_small(const float* values, std::size_t count, double scale,
                               std::int64_t* sums) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += quantise(values[i], scale);
}

void quantise_add(const float* values, std::size_t count, int exponent, std::uint32_t largest,
                  std::int64_t* sums) {
  if (largest == 0) return;
  const double scale = power_of_two(kFractionBits - exponent);
  if (exponent_of_magnitude(largest) - exponent + kFractionBits <= 50) {
    quantise_add_small(values, count, scale, sums);
    return;
  }
  for (std::size_t i = 0; i < count; ++i) sums[i] += quantise_large(values[i], scale);
}

DDL_VECTOR_WIDTHS
static void read_plain(const std::int64_t* sums, std::size_t count, double quantum, double scale,
                       float* out) {
  for (std::size_t i = 0; i < count; ++i) out[i] = sum_value(sums[i], 0, quantum, 0.0, scale);
}

void read_sums(const std::int64_t* sums, const std::int64_t* spill, std::size_t count, int exponent,
               double scale, float* out) {
  const double quantum = power_of_two(exponent - kFractionBits);
  if (spill == nullptr) {
    read_plain(sums, count, quantum, scale, out);
    return;
  }
  const double spill_quantum = power_of_two(exponent - kFractionBits + kSpillBits);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = sum_value(sums[i], spill[i], quantum, spill_quantum, scale);
  }
}

}  // namespace ddl::kernels
