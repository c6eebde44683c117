#include "ddl/base/dtype.h"

#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using testing::HasSubstr;

TEST(DType, EveryNameIsReadBack) {
  for (int i = 0; i <= static_cast<int>(DType::boolean); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype) << dtype_name(dtype);
  }
}

TEST(DType, NamesAndSizesAreThoseOfNumpy) {
  const std::vector<std::tuple<DType, std::string_view, std::size_t>> expected = {
      {DType::f32, "float32", 4}, {DType::f64, "float64", 8}, {DType::bf16, "bfloat16", 2},
      {DType::f16, "float16", 2}, {DType::u8, "uint8", 1},    {DType::i8, "int8", 1},
      {DType::u16, "uint16", 2},  {DType::i16, "int16", 2},   {DType::i32, "int32", 4},
      {DType::i64, "int64", 8},   {DType::boolean, "bool", 1}};
  for (const auto& [dtype, name, bytes] : expected) {
    EXPECT_EQ(dtype_name(dtype), name);
    EXPECT_EQ(dtype_bytes(dtype), bytes) << name;
  }
}

TEST(DType, UnknownNameSuggestsTheNearest) {
  const Error near = test::error_of([] { parse_dtype("flaot32"); });
  EXPECT_EQ(near.kind(), ErrorKind::bad_input);
  EXPECT_THAT(near.what(), HasSubstr("\"flaot32\""));
  EXPECT_THAT(near.remedy(), HasSubstr("float32"));
  const Error far = test::error_of([] { parse_dtype("complex"); });
  EXPECT_THAT(far.remedy(), HasSubstr("float32, float64, bfloat16"));
  test::error_of([] { parse_dtype(""); });
}

TEST(Shape, ElementCount) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 32, 32}), 3072);
  EXPECT_EQ(element_count({0, 5}), 0);
  const auto most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(element_count({most, 1}), most);
  EXPECT_EQ(element_count({most, most, 0}), 0);
}

TEST(Shape, BadExtentsAreNamed) {
  EXPECT_THAT(test::error_of([] { element_count({2, -1}); }).what(), HasSubstr("2x-1"));
  EXPECT_THAT(test::error_of([] { element_count({0, -1}); }).what(), HasSubstr("negative"));
  const std::int64_t big = std::int64_t{1} << 32;
  const Error error = test::error_of([&] { element_count({big, big}); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_THAT(error.what(), HasSubstr("4294967296x4294967296"));
}

TEST(Shape, Text) {
  EXPECT_EQ(shape_text({}), "scalar");
  EXPECT_EQ(shape_text({7}), "7");
  EXPECT_EQ(shape_text({3, 32, 32}), "3x32x32");
}

float from_bits(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

TEST(Bfloat16, RoundsToNearestAndTiesToEven) {
  EXPECT_EQ(to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(to_bf16(from_bits(0x3f807fff)), 0x3f80);  // just below the tie
  EXPECT_EQ(to_bf16(from_bits(0x3f808000)), 0x3f80);  // a tie, even stays
  EXPECT_EQ(to_bf16(from_bits(0x3f808001)), 0x3f81);  // just above
  EXPECT_EQ(to_bf16(from_bits(0x3f818000)), 0x3f82);  // a tie, odd goes up
  EXPECT_EQ(to_bf16(from_bits(0xbf818000)), 0xbf82);
  EXPECT_EQ(to_bf16(-0.0f), 0x8000);
}

TEST(Bfloat16, LargeValuesRoundToInfinity) {
  EXPECT_EQ(to_bf16(from_bits(0x7f7f7fff)), 0x7f7f);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(to_bf16(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_EQ(to_bf16(-std::numeric_limits<float>::infinity()), 0xff80);
}

TEST(Bfloat16, DenormalsRoundLikeAnyOther) {
  EXPECT_EQ(to_bf16(from_bits(0x00008000)), 0x0000);
  EXPECT_EQ(to_bf16(from_bits(0x00008001)), 0x0001);
  EXPECT_EQ(to_bf16(from_bits(0x00018000)), 0x0002);
}

TEST(Bfloat16, NanStaysNan) {
  for (const std::uint32_t bits : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u}) {
    const std::uint16_t rounded = to_bf16(from_bits(bits));
    EXPECT_TRUE(std::isnan(from_bf16(rounded))) << std::hex << bits << " became " << rounded;
    EXPECT_EQ(rounded >> 15, bits >> 31) << "the sign is kept";
  }
}

TEST(Bfloat16, EveryValueSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = from_bf16(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(to_bf16(value), bits);
  }
}

}  // namespace
}  // namespace ddl
