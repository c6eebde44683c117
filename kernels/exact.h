// Arithmetic of the exact reduction (ddl/comm/exact.h has the scheme): floats to integers in a
// fixed point of quantum 2^(E - 40), and back. All of it works on the bits of the operands, so that
// no rounding mode, flush-to-zero flag or library can change a result.
#pragma once

#include "kernels/portable.h"

#include <cstdint>

namespace ddl::kernels {

constexpr int kQuantumBits = 40;  // a value below 2^E has less than 2^40 quanta
constexpr int kSpillBits = 24;    // the second accumulator's quantum is 2^24 times larger
constexpr std::uint32_t kInfinityBits = 0x7f800000U;
constexpr int kSmallestExponent = -148;  // of the smallest denormal, 2^-149

DDL_HOST_DEVICE inline std::uint32_t absolute_bits(float value) {
  return same_bits<std::uint32_t>(value) & 0x7fffffffU;
}

// The smallest E with |g| < 2^E, from the bits of |g|; g finite and not zero.
DDL_HOST_DEVICE inline int exponent_bound(std::uint32_t absolute) {
  const int biased = static_cast<int>(absolute >> 23);
  if (biased > 0) return biased - 126;
  int bits = 0;
  while (absolute >> bits != 0) ++bits;
  return bits - 149;
}

// round_to_nearest_even(g / 2^(exponent - 40)). Needs a result of at most 2^62 in magnitude.
DDL_HOST_DEVICE inline std::int64_t quantise(float value, int exponent) {
  const auto bits = same_bits<std::uint32_t>(value);
  const int biased = static_cast<int>((bits >> 23) & 0xffU);
  // |g| = mantissa * 2^(max(biased, 1) - 150), so |g| / quantum = mantissa * 2^shift.
  const std::uint64_t mantissa = (bits & 0x7fffffU) | (biased > 0 ? 0x800000U : 0U);
  const int shift = (biased > 0 ? biased : 1) - 150 + kQuantumBits - exponent;
  std::uint64_t magnitude = 0;
  if (shift >= 0) {
    magnitude = mantissa << (shift < 40 ? shift : 40);
  } else if (shift > -26) {
    const int right = -shift;
    const std::uint64_t odd = (mantissa >> right) & 1U;
    magnitude = (mantissa + ((std::uint64_t{1} << (right - 1)) - 1U) + odd) >> right;
  }
  const auto quanta = static_cast<std::int64_t>(magnitude);
  return (bits >> 31) != 0 ? -quanta : quanta;
}

// 2^e as a double, -1022 <= e <= 1023.
DDL_HOST_DEVICE inline double power_of_two(int e) {
  return same_bits<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

// Where a task's tensor goes, from the largest |g| in it. limit_bits: 62 - L.
enum class Placement : int { first = 0, second = 1, bad = 2 };

// |g| <= 2^(limit_bits + exponent - 40), for finite g. A float that is over a power of two is over
// it by far more than half a quantum, so this is |k| <= 2^limit_bits as well.
DDL_HOST_DEVICE inline bool within_limit(std::uint32_t largest, int exponent, int limit_bits) {
  if (largest == 0) return true;
  const int power = limit_bits + exponent - kQuantumBits;
  const int bound = exponent_bound(largest);
  if (bound <= power) return true;
  // |g| = 2^power itself has the bound power + 1.
  if (bound > power + 1) return false;
  const int biased = static_cast<int>(largest >> 23);
  const std::uint32_t fraction = largest & 0x7fffffU;
  return biased > 0 ? fraction == 0 : (largest & (largest - 1U)) == 0;
}

DDL_HOST_DEVICE inline Placement placement(std::uint32_t largest, int exponent, int limit_bits) {
  if (largest >= kInfinityBits) return Placement::bad;
  if (within_limit(largest, exponent, limit_bits)) return Placement::first;
  return within_limit(largest, exponent + kSpillBits, limit_bits) ? Placement::second
                                                                  : Placement::bad;
}

// round_to_nearest_even(value) for |value| <= 2^62, by bits.
DDL_HOST_DEVICE inline std::int64_t round_to_integer(double value) {
  const auto bits = same_bits<std::uint64_t>(value);
  const int biased = static_cast<int>((bits >> 52) & 0x7ffU);
  const std::uint64_t mantissa = (bits & 0xfffffffffffffU) | (biased > 0 ? 1ULL << 52 : 0ULL);
  const int shift = biased - 1075;
  std::uint64_t magnitude = 0;
  if (shift >= 0) {
    magnitude = mantissa << (shift < 10 ? shift : 10);
  } else if (shift > -55) {
    const int right = -shift;
    const std::uint64_t odd = (mantissa >> right) & 1U;
    magnitude = (mantissa + ((std::uint64_t{1} << (right - 1)) - 1U) + odd) >> right;
  }
  const auto quanta = static_cast<std::int64_t>(magnitude);
  return (bits >> 63) != 0 ? -quanta : quanta;
}

}  // namespace ddl::kernels
