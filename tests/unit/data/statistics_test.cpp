#include "ddl/data/statistics.h"

#include "ddl/data/readers/reader.h"

#include <cmath>
#include <limits>
#include <span>

#include <gtest/gtest.h>

namespace ddl {
namespace {

template <typename T>
void add(FieldStatistics& statistics, const std::vector<T>& row) {
  statistics.add(std::as_bytes(std::span(row)));
}

TEST(Statistics, ColumnsGetMeanAndInverseDeviation) {
  FieldStatistics statistics(plain_field("x", FieldKind::numeric, DType::f32, {2}));
  add<float>(statistics, {1, 10});
  add<float>(statistics, {3, 30});
  add<float>(statistics, {5, 50});
  const Normalisation norm = statistics.normalisation();
  EXPECT_DOUBLE_EQ(norm.mean[0], 3);
  EXPECT_DOUBLE_EQ(norm.mean[1], 30);
  EXPECT_DOUBLE_EQ(norm.scale[0], 1 / std::sqrt(8.0 / 3));
}

TEST(Statistics, ImagesGetOneEntryAChannel) {
  FieldStatistics statistics(plain_field("x", FieldKind::image, DType::u8, {2, 1, 2}));
  add<std::uint8_t>(statistics, {0, 255, 7, 7});
  add<std::uint8_t>(statistics, {0, 255, 7, 7});
  const Normalisation norm = statistics.normalisation();
  ASSERT_EQ(norm.mean.size(), 2U);
  EXPECT_DOUBLE_EQ(norm.mean[0], 127.5);
  EXPECT_DOUBLE_EQ(norm.scale[0], 1 / 127.5);
  EXPECT_EQ(statistics.constant(), std::vector<std::size_t>{1});
  EXPECT_DOUBLE_EQ(norm.scale[1], 1);
}

TEST(Statistics, NearConstantIsJudgedRelativeToSize) {
  FieldStatistics statistics(plain_field("x", FieldKind::numeric, DType::f32, {3}));
  // A spread of one unit in the last place of a large value is rounding; a small unit is not.
  const float large = 1e7F, next = std::nextafter(large, 2e7F);
  add<float>(statistics, {large, 1e-9F, 4});
  add<float>(statistics, {next, 3e-9F, 4});
  EXPECT_EQ(statistics.constant(), (std::vector<std::size_t>{0, 2}));
}

TEST(Statistics, LargeOffsetsDoNotCancel) {
  FieldStatistics statistics(plain_field("x", FieldKind::numeric, DType::f32, {1}));
  for (int i = 0; i < 1000; ++i) add<float>(statistics, {100000.0F + static_cast<float>(i % 2)});
  EXPECT_NEAR(statistics.normalisation().scale[0], 2, 1e-9);
}

TEST(Statistics, MissingValuesArePassedOver) {
  FieldStatistics statistics(plain_field("x", FieldKind::numeric, DType::f32, {1}));
  add<float>(statistics, {2});
  add<float>(statistics, {std::numeric_limits<float>::quiet_NaN()});
  add<float>(statistics, {4});
  EXPECT_DOUBLE_EQ(statistics.mean(0), 3);
}

}  // namespace
}  // namespace ddl
