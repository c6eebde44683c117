#include "ddl/base/random.h"
#include "ddl/comm/exact.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace ddl {
namespace {

constexpr double kQuantum = 1.0 / 1073741824.0;  // 2^-30
constexpr double kTooLarge = 4294967296.0;       // 2^32

FixedSum sum_of(const std::vector<double>& values) {
  FixedSum sum;
  for (const double value : values) sum.add(value);
  return sum;
}

TEST(FixedSum, RoundsOnceToNearestEven) {
  EXPECT_EQ(sum_of({kQuantum}).word(), 1);
  EXPECT_EQ(sum_of({0.5 * kQuantum}).word(), 0);
  EXPECT_EQ(sum_of({1.5 * kQuantum}).word(), 2);
  EXPECT_EQ(sum_of({-1.5 * kQuantum}).word(), -2);
  EXPECT_EQ(sum_of({2.5 * kQuantum}).word(), 2);
  EXPECT_EQ(sum_of({-0.5 * kQuantum}).word(), 0);
  EXPECT_EQ(sum_of({std::nextafter(0.5 * kQuantum, 1.0)}).word(), 1);
  EXPECT_EQ(sum_of({1e-300}).word(), 0);
  EXPECT_EQ(sum_of({std::numeric_limits<double>::denorm_min()}).word(), 0);
  EXPECT_EQ(sum_of({3.0}).word(), 3 * (std::int64_t{1} << 30));
  EXPECT_EQ(sum_of({3.0, 0.25}).value(), 3.25);
  Random random(1, "fixed");
  for (int i = 0; i < 2000; ++i) {
    const double value = std::ldexp(random.normal(), static_cast<int>(random.below(60)) - 30);
    if (std::fabs(value) >= kTooLarge) continue;
    EXPECT_EQ(
        sum_of({value}).word(),
        static_cast<std::int64_t>(std::nearbyint(std::ldexp(static_cast<long double>(value), 30))))
        << value;
  }
}

TEST(FixedSum, DoesNotDependOnOrderOrGrouping) {
  Random random(2, "order");
  std::vector<double> values(1000);
  for (double& value : values)
    value = std::ldexp(random.normal(), static_cast<int>(random.below(40)) - 20);
  const std::int64_t expected = sum_of(values).word();
  for (std::uint64_t trial = 0; trial < 10; ++trial) {
    FixedSum groups[3];
    for (const std::uint32_t i : random_permutation(1000, Random(trial, "shuffle")))
      groups[random.below(3)].add(values[i]);
    FixedSum total = FixedSum::from_word(groups[0].word(), groups[0].bad());
    total.add(groups[2]);
    total.add(groups[1]);
    EXPECT_EQ(total.word(), expected);
    EXPECT_FALSE(total.bad());
  }
}

TEST(FixedSum, WhatItCannotHoldIsBad) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {nan, infinity, -infinity, kTooLarge, -kTooLarge, 1e300}) {
    FixedSum sum = sum_of({1.0, value, 2.0});
    EXPECT_TRUE(sum.bad()) << value;
    FixedSum other = sum_of({1.0});
    other.add(sum);
    EXPECT_TRUE(other.bad());
    EXPECT_TRUE(FixedSum::from_word(sum.word(), sum.bad()).bad());
  }
  EXPECT_FALSE(sum_of({std::nextafter(kTooLarge, 0.0)}).bad());
  EXPECT_FALSE(sum_of({-std::nextafter(kTooLarge, 0.0)}).bad());
  EXPECT_FALSE(FixedSum().bad());
  EXPECT_EQ(FixedSum().value(), 0.0);
}

TEST(FixedSum, OverflowIsBadInBothAdditions) {
  const double most = 4294967295.0;  // 2^32 - 1: two fit below 2^33, three do not
  EXPECT_FALSE(sum_of({most, most}).bad());
  EXPECT_EQ(sum_of({most, most}).value(), 2 * most);
  EXPECT_TRUE(sum_of({most, most, most}).bad());
  EXPECT_TRUE(sum_of({-most, -most, -most}).bad());
  FixedSum sum = sum_of({most, most});
  sum.add(sum_of({most, most}));
  EXPECT_TRUE(sum.bad());
}

}  // namespace
}  // namespace ddl
