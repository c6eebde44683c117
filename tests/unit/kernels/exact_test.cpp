// The exact reduction's arithmetic against integers of 128 bits and the C library.
#include "kernels/exact.h"

#include <algorithm>

#include "unit/kernels/bit_patterns.h"
#include <gtest/gtest.h>

namespace ddl::kernels {
namespace {

using namespace test;

__extension__ typedef __int128 Int128;

// round_to_nearest_even(value / 2^power): the float is mantissa * 2^e, all in integers.
Int128 rounded_quotient(double value, int power) {
  int e = 0;
  auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(std::fabs(value), &e), 53));
  e -= 53;
  Int128 result = 0;
  const int shift = e - power;
  if (shift >= 0) {
    result = static_cast<Int128>(mantissa) << shift;
  } else if (shift > -100) {
    const Int128 divisor = Int128{1} << -shift;
    const Int128 twice_rest = 2 * (mantissa % divisor);
    result = mantissa / divisor;
    if (twice_rest > divisor || (twice_rest == divisor && result % 2 != 0)) ++result;
  }
  return value < 0 ? -result : result;
}

TEST(Quantise, RoundsAsIntegersDo) {
  Random random(1, "quantise");
  for (int i = 0; i < 300000; ++i) {
    const float value = any_finite(random);
    // From far below a quantum to the top of the range of a task value.
    int bound = -148;
    if (value != 0) std::frexp(value, &bound);
    const int exponent = bound - 22 + static_cast<int>(random.below(90));
    if (exponent < kSmallestExponent || exponent > 128 + kSpillBits) continue;
    ASSERT_EQ(Int128{quantise(value, exponent)}, rounded_quotient(value, exponent - 40))
        << value << " at exponent " << exponent;
  }
}

TEST(Quantise, TiesGoToEven) {
  for (const int exponent : {-100, 0, 31}) {
    for (int quanta = -70; quanta <= 70; ++quanta) {
      const float value = std::ldexp(static_cast<float>(quanta) + 0.5F, exponent - 40);
      const int even = quanta % 2 == 0 ? quanta : quanta + 1;
      EXPECT_EQ(quantise(value, exponent), even) << quanta;
      EXPECT_EQ(quantise(std::nextafter(value, 1e30F), exponent), quanta + 1);
      EXPECT_EQ(quantise(std::nextafter(value, -1e30F), exponent), quanta);
    }
  }
}

TEST(Quantise, Denormals) {
  Random random(2, "denormals");
  for (int i = 0; i < 100000; ++i) {
    const float value = std::bit_cast<float>(random.next_u32() & 0x807fffffU);
    for (const int exponent : {-148, -130, -126, -110})
      ASSERT_EQ(Int128{quantise(value, exponent)}, rounded_quotient(value, exponent - 40));
  }
  EXPECT_EQ(quantise(std::numeric_limits<float>::denorm_min(), -148), std::int64_t{1} << 39);
}

TEST(Quantise, ZeroAndTheLargest) {
  EXPECT_EQ(quantise(0.0F, 0), 0);
  EXPECT_EQ(quantise(-0.0F, 128), 0);
  EXPECT_EQ(quantise(std::ldexp(1.0F, 22), 0), std::int64_t{1} << 62);
  EXPECT_EQ(quantise(std::ldexp(-1.0F, 22), 0), -(std::int64_t{1} << 62));
  EXPECT_EQ(quantise(std::numeric_limits<float>::max(), 128), ((std::int64_t{1} << 24) - 1) << 16);
}

TEST(ExponentBound, IsTheSmallest) {
  Random random(3, "bound");
  for (int i = 0; i < 100000; ++i) {
    const float value = any_finite(random);
    if (value == 0) continue;
    int expected = 0;
    std::frexp(value, &expected);
    ASSERT_EQ(exponent_bound(absolute_bits(value)), expected) << value;
  }
  for (int n = -149; n <= 127; ++n)
    EXPECT_EQ(exponent_bound(absolute_bits(std::ldexp(-1.0F, n))), n + 1);
}

TEST(Placement, FollowsTheLimits) {
  Random random(4, "placement");
  int seen[3] = {};
  for (int i = 0; i < 200000; ++i) {
    const int exponent = static_cast<int>(random.below(200)) - 140;
    const int limit_bits = 40 + static_cast<int>(random.below(23));
    // Near both limits, often on them.
    const int near = exponent + limit_bits - 40 + static_cast<int>(random.below(2)) * kSpillBits;
    if (near > 126 || near < -140) continue;
    float value = std::ldexp(1.0F, near + static_cast<int>(random.below(3)) - 1);
    if (random.below(2) == 0) value = std::nextafter(value, random.below(2) == 0 ? 0.0F : 1e38F);
    const Int128 limit = Int128{1} << limit_bits;
    Placement expected = Placement::bad;
    if (rounded_quotient(value, exponent - 40 + kSpillBits) <= limit &&
        std::ldexp(static_cast<double>(value), 40 - kSpillBits - exponent) <=
            std::ldexp(1.0, limit_bits)) {
      expected = Placement::second;
    }
    if (rounded_quotient(value, exponent - 40) <= limit) expected = Placement::first;
    ASSERT_EQ(placement(absolute_bits(value), exponent, limit_bits), expected)
        << value << ", exponent " << exponent << ", limit " << limit_bits;
    ++seen[static_cast<int>(expected)];
  }
  for (const int count : seen) EXPECT_GT(count, 1000);
  EXPECT_EQ(placement(0, -148, 40), Placement::first);
  EXPECT_EQ(placement(kInfinityBits, 128, 62), Placement::bad);
  EXPECT_EQ(placement(kInfinityBits + 1, 128, 62), Placement::bad);
}

TEST(RoundToInteger, RoundsAsIntegersDo) {
  Random random(5, "doubles");
  for (int i = 0; i < 300000; ++i) {
    const double value =
        std::ldexp(random.uniform() * 2 - 1, static_cast<int>(random.below(66)) - 3);
    if (std::fabs(value) > 0x1p62) continue;
    ASSERT_EQ(Int128{round_to_integer(value)}, rounded_quotient(value, 0)) << value;
  }
  for (int n = -9; n <= 9; ++n) EXPECT_EQ(round_to_integer(n + 0.5), n % 2 == 0 ? n : n + 1);
  EXPECT_EQ(round_to_integer(0x1p62), std::int64_t{1} << 62);
  EXPECT_EQ(round_to_integer(std::numeric_limits<double>::denorm_min()), 0);
  EXPECT_EQ(round_to_integer(-0.0), 0);
  EXPECT_EQ(round_to_integer(std::nextafter(0.5, 0.0)), 0);
}

TEST(PowerOfTwo, WholeRange) {
  for (int e = -1022; e <= 1023; ++e) ASSERT_EQ(power_of_two(e), std::ldexp(1.0, e));
}

}  // namespace
}  // namespace ddl::kernels
