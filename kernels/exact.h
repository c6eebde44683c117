// Fixed-point arithmetic of the exact reduction (lib/ddl/comm/exact.h), for host and device.
//
// A value g is rounded once to the integer k = round_half_even(g * 2^(40 - E)). Scaling a float by
// a power of two is exact in double, so the one rounding is the last step and its bits do not
// depend on who computes it. Denormal floats count as zero, whatever the processor's flush mode is.
#pragma once

#include "kernels/portable.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace ddl::kernels {

inline constexpr int kFractionBits = 40;  // bits below 2^E
inline constexpr int kSpillBits = 24;     // the second accumulator's quantum is 2^24 times larger
inline constexpr std::uint32_t kInfinityBits = 0x7F800000U;

DDL_HOST_DEVICE inline std::uint32_t magnitude_bits(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  bits &= 0x7FFFFFFFU;
  return bits < 0x00800000U ? 0U : bits;
}

// Smallest E with |g| < 2^E, from the magnitude's bits (not zero, finite).
DDL_HOST_DEVICE inline std::int32_t exponent_of_magnitude(std::uint32_t bits) {
  return static_cast<std::int32_t>(bits >> 23) - 126;
}

// 2^n for -1022 <= n <= 1023.
DDL_HOST_DEVICE inline double power_of_two(int n) {
  const std::uint64_t bits = static_cast<std::uint64_t>(n + 1023) << 52;
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// round_half_even(value * scale) for |value * scale| < 2^51: adding 1.5 * 2^52 leaves the rounded
// integer in the low bits of the sum. No conversion instruction, so that every compiler vectorises
// it.
DDL_HOST_DEVICE inline std::int64_t quantise(float value, double scale) {
  constexpr double kMagic = 6755399441055744.0;
  double product = magnitude_bits(value) == 0U ? 0.0 : static_cast<double>(value) * scale;
  product += kMagic;
  std::int64_t bits, magic;
  const double magic_value = kMagic;
  std::memcpy(&bits, &product, sizeof bits);
  std::memcpy(&magic, &magic_value, sizeof magic);
  return bits - magic;
}

// The same for |value * scale| < 2^62. From 2^51 on, a scaled float (24 significant bits) is an
// integer already, so that the plain conversion is exact.
DDL_HOST_DEVICE inline std::int64_t quantise_large(float value, double scale) {
  const double product = magnitude_bits(value) == 0U ? 0.0 : static_cast<double>(value) * scale;
  if (product < 2251799813685248.0 && product > -2251799813685248.0) return quantise(value, scale);
  return static_cast<std::int64_t>(product);
}

// The sum's value: both accumulators, times `scale`, rounded once to float at the end.
DDL_HOST_DEVICE inline float sum_value(std::int64_t sum, std::int64_t spill, double quantum,
                                       double spill_quantum, double scale) {
  return static_cast<float>(
      (static_cast<double>(sum) * quantum + static_cast<double>(spill) * spill_quantum) * scale);
}

// Loops over host memory, in exact_loops.cpp; vectorised, same bits at any vector width.

// Largest magnitude's bits; kInfinityBits or more when there is an Inf or NaN.
std::uint32_t largest_magnitude_bits(const float* values, std::size_t count);
// sums[i] += k_i with E = exponent; `largest` bounds the magnitudes (as bits) and chooses the loop.
void quantise_add(const float* values, std::size_t count, int exponent, std::uint32_t largest,
                  std::int64_t* sums);
// out[i] = sum_value; spill may be null.
void read_sums(const std::int64_t* sums, const std::int64_t* spill, std::size_t count, int exponent,
               double scale, float* out);

}  // namespace ddl::kernels
