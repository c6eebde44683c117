// Elementary functions in single precision for host and device. Plain multiplications and additions
// in a fixed order, no branches, no library calls: a compiler can vectorise them, and every
// processor computes the same bits as long as it does not contract them to fused operations
// (-ffp-contract=off, nvcc --fmad=false).
//
// Errors are a few units in the last place over the whole range. Infinities and NaN behave as in
// <cmath>; results below the smallest normal number are zero, and denormal operands count as zero
// in log.
#pragma once

#include "kernels/portable.h"

#include <cstdint>
#include <cstring>

namespace ddl::kernels {

DDL_HOST_DEVICE inline float float_of_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

DDL_HOST_DEVICE inline std::uint32_t bits_of_float(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

// e^x = 2^n e^r with n = round(x / ln 2); e^r by its series to r^7, |r| <= 0.3466.
DDL_HOST_DEVICE inline float exp_f32(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves an integer in the low bits
  const float low = x < -87.336F ? -87.336F : x;
  const float bounded = low > 88.722F ? 88.722F : low;
  const float shifted = bounded * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (bounded - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 5040;
  p = p * r + 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * (r * r) + r;
  p = p + 1.0F;
  // 2^n in two factors, since 2^128 has no representation.
  const std::uint32_t exponent = bits_of_float(shifted) - bits_of_float(kRound) + 254U;
  const std::uint32_t half = exponent >> 1;
  const float result = p * float_of_bits(half << 23) * float_of_bits((exponent - half) << 23);
  const float underflown = x < -87.336F ? 0.0F : result;
  return x > 88.722F ? float_of_bits(0x7f800000U) : underflown;
}

// log x = e ln 2 + log m, m in [sqrt(1/2), sqrt 2); log m = 2 atanh((m - 1) / (m + 1)).
DDL_HOST_DEVICE inline float log_f32(float x) {
  const std::uint32_t bits = bits_of_float(x);
  const std::uint32_t kRootHalf = 0x3f3504f3U;
  const std::uint32_t offset = bits - kRootHalf;
  const auto exponent = static_cast<float>(static_cast<std::int32_t>(offset) >> 23);
  const float m = float_of_bits((offset & 0x007fffffU) + kRootHalf);
  const float s = (m - 1.0F) / (m + 1.0F);
  const float z = s * s;
  float p = 2.0F / 11;
  p = p * z + 2.0F / 9;
  p = p * z + 2.0F / 7;
  p = p * z + 2.0F / 5;
  p = p * z + 2.0F / 3;
  p = p * z * s + 2.0F * s;
  const float result = exponent * 0.693359375F + (p + exponent * -2.12194440e-4F);
  const float smallest = float_of_bits(0x00800000U), infinity = float_of_bits(0x7f800000U);
  const float at_zero = x < smallest ? -infinity : result;
  const float signed_domain = x < 0.0F ? float_of_bits(0x7fc00000U) : at_zero;
  const float at_infinity = x == infinity ? infinity : signed_domain;
  return x == x ? at_infinity : x;
}

DDL_HOST_DEVICE inline float sigmoid_f32(float x) {
  return 1.0F / (1.0F + exp_f32(-x));
}

// Near zero by its odd series, else 1 - 2 / (e^2|x| + 1) with the sign of x.
DDL_HOST_DEVICE inline float tanh_f32(float x) {
  const float magnitude = x < 0.0F ? -x : x;
  const float z = x * x;
  float p = -1382.0F / 155925;
  p = p * z + 62.0F / 2835;
  p = p * z + -17.0F / 315;
  p = p * z + 2.0F / 15;
  p = p * z + -1.0F / 3;
  const float near_zero = x + x * z * p;
  const float far = 1.0F - 2.0F / (exp_f32(2.0F * magnitude) + 1.0F);
  const float with_sign = x < 0.0F ? -far : far;
  return magnitude < 0.3F ? near_zero : with_sign;
}

// Below 1 by its series; above by the rational form in 1 / (1 + p|x|) with five terms of Hastings
// (Abramowitz and Stegun 7.1.26, absolute error 1.5e-7).
DDL_HOST_DEVICE inline float erf_f32(float x) {
  const float magnitude = x < 0.0F ? -x : x;
  const float z = x * x;
  float series = 1.0F / 76204800;  // terms (-1)^k z^k / (k! (2k + 1)), k = 10 first
  series = series * z + -1.0F / 6894720;
  series = series * z + 1.0F / 685440;
  series = series * z + -1.0F / 75600;
  series = series * z + 1.0F / 9360;
  series = series * z + -1.0F / 1320;
  series = series * z + 1.0F / 216;
  series = series * z + -1.0F / 42;
  series = series * z + 1.0F / 10;
  series = series * z + -1.0F / 3;
  series = series * z + 1.0F;
  const float near_zero = 1.12837917F * x * series;
  const float t = 1.0F / (1.0F + 0.3275911F * magnitude);
  float tail = 1.061405429F;
  tail = tail * t + -1.453152027F;
  tail = tail * t + 1.421413741F;
  tail = tail * t + -0.284496736F;
  tail = tail * t + 0.254829592F;
  const float far = 1.0F - tail * t * exp_f32(-z);
  const float with_sign = x < 0.0F ? -far : far;
  return magnitude < 1.0F ? near_zero : with_sign;
}

// x * Phi(x), Phi the normal distribution.
DDL_HOST_DEVICE inline float gelu_f32(float x) {
  return 0.5F * x * (1.0F + erf_f32(x * 0.707106781F));
}

// Phi(x) + x * phi(x)
DDL_HOST_DEVICE inline float gelu_slope_f32(float x) {
  const float density = 0.398942280F * exp_f32(-0.5F * (x * x));
  return 0.5F * (1.0F + erf_f32(x * 0.707106781F)) + x * density;
}

// The approximation with tanh: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
DDL_HOST_DEVICE inline float gelu_tanh_f32(float x) {
  const float inner = 0.797884561F * (x + 0.044715F * (x * x * x));
  return 0.5F * x * (1.0F + tanh_f32(inner));
}

DDL_HOST_DEVICE inline float gelu_tanh_slope_f32(float x) {
  const float square = x * x;
  const float t = tanh_f32(0.797884561F * (x + 0.044715F * (x * square)));
  const float slope = 0.797884561F * (1.0F + 0.134145F * square);
  return 0.5F * (1.0F + t) + 0.5F * x * (1.0F - t * t) * slope;
}

}  // namespace ddl::kernels
