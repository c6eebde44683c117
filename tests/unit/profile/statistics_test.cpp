#include "ddl/profile/statistics.h"

#include "ddl/base/random.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace ddl::profile {
namespace {

// By its definition: the smallest piecewise linear function through (i / (n - 1), sorted[i]).
double reference_percentile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  if (values.size() == 1) return values[0];
  const auto steps = static_cast<double>(values.size() - 1);
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    const double left = static_cast<double>(i) / steps, right = static_cast<double>(i + 1) / steps;
    if (q <= right)
      return values[i] * (right - q) / (right - left) + values[i + 1] * (q - left) / (right - left);
  }
  return values.back();
}

std::vector<double> random_values(std::size_t count, std::uint64_t seed) {
  Random random(seed, "statistics test");
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(std::exp(3 * random.normal()));
  return out;
}

TEST(Statistics, AgreeWithAReferenceInAnyOrder) {
  for (std::size_t count : {1U, 2U, 3U, 4U, 9U, 10U, 11U, 100U, 1001U}) {
    const std::vector<double> values = random_values(count, count);
    const Measured out = measured(values);
    EXPECT_EQ(out.samples, static_cast<int>(count));
    EXPECT_NEAR(out.median, reference_percentile(values, 0.5), 1e-9 * out.median) << count;
    EXPECT_NEAR(out.low, reference_percentile(values, 0.1), 1e-9 * out.low) << count;
    EXPECT_NEAR(out.high, reference_percentile(values, 0.9), 1e-9 * out.high) << count;
    std::vector<double> backwards(values.rbegin(), values.rend());
    EXPECT_EQ(measured(backwards).median, out.median);
  }
}

TEST(Statistics, AreOrderedAndInsideTheValues) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<double> values = random_values(1 + seed % 13, seed);
    const Measured out = measured(values);
    EXPECT_LE(*std::min_element(values.begin(), values.end()), out.low);
    EXPECT_LE(out.low, out.median);
    EXPECT_LE(out.median, out.high);
    EXPECT_LE(out.high, *std::max_element(values.begin(), values.end()));
  }
}

TEST(Statistics, OfEqualValuesAreThatValue) {
  const Measured out = measured(std::vector<double>(7, 0.1));
  EXPECT_EQ(out.low, 0.1);
  EXPECT_EQ(out.median, 0.1);
  EXPECT_EQ(out.high, 0.1);
}

TEST(Statistics, OfNothingAreZero) {
  EXPECT_EQ(measured({}).samples, 0);
  EXPECT_EQ(measured({}).median, 0);
  EXPECT_EQ(typical_of({}).samples, 0);
  EXPECT_EQ(sum_of({}).samples, 0);
}

TEST(Statistics, PercentileReachesBothEnds) {
  const std::vector<double> values = {1, 2, 4, 8};
  EXPECT_EQ(percentile(values, 0), 1);
  EXPECT_EQ(percentile(values, 1), 8);
  EXPECT_EQ(percentile(values, 0.5), 3);
}

TEST(Statistics, SumAddsRatesOfOneMoment) {
  const std::vector<Measured> parts = {{10, 8, 11, 5}, {1, 0.5, 2, 3}};
  const Measured out = sum_of(parts);
  EXPECT_EQ(out.median, 11);
  EXPECT_EQ(out.low, 8.5);
  EXPECT_EQ(out.high, 13);
  EXPECT_EQ(out.samples, 3);
}

TEST(Statistics, TypicalIsOrderedAndNotTheOutlier) {
  std::vector<Measured> parts;
  for (int i = 0; i < 9; ++i) parts.push_back({10.0 + i, 9.0 + i, 12.0 + i, 4});
  parts.push_back({1000, 900, 1100, 4});
  const Measured out = typical_of(parts);
  EXPECT_EQ(out.median, 14.5);
  EXPECT_LE(out.low, out.median);
  EXPECT_LE(out.median, out.high);
  EXPECT_EQ(out.samples, 40);
}

}  // namespace
}  // namespace ddl::profile
