#include "ddl/base/random.h"

#include "ddl/base/checksum.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using Counter = std::array<std::uint32_t, 4>;
using Key = std::array<std::uint32_t, 2>;

// philox4x32 10 of Random123's kat_vectors: zeros, ones, and digits of pi.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox_block(Counter{0, 0, 0, 0}, Key{0, 0}),
            (Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox_block(Counter{kOnes, kOnes, kOnes, kOnes}, Key{kOnes, kOnes}),
            (Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox_block(Counter{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                         Key{0xa4093822, 0x299f31d0}),
            (Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// These numbers decide every trained model: a change here is a change of format.
TEST(Random, StreamsNeverChange) {
  Random random(7, "dropout", 1, 2, 3);
  std::vector<std::uint32_t> words(6);
  for (std::uint32_t& word : words) word = random.next_u32();
  EXPECT_EQ(words, (std::vector<std::uint32_t>{0x77e3e00c, 0x017a442c, 0x03b4a297, 0x4088d761,
                                               0x94609079, 0x7d7964c7}));
  EXPECT_EQ(Random(7, "dropout", std::uint64_t{1} << 32).next_u64(), 0x4aab0e97e98f35a3u);
  Random normal(1, "normal");
  EXPECT_EQ(normal.normal(), -0x1.e42aaa9c784f6p-1);
  EXPECT_EQ(normal.normal(), -0x1.b8f39e4208144p-1);
  EXPECT_EQ(normal.normal(), 0x1.a70625613dadap-1);
}

TEST(Random, TheLayoutIsTheDocumentedOne) {
  const std::string_view name(
      "\x08\x07\x06\x05\x04\x03\x02\x01"  // seed
      "\x0a\0\0\0\x0b\0\0\0\x0c\0\0\0"    // high halves of a, b, c
      "init",
      24);
  const std::uint64_t hash = xxh3_64(std::as_bytes(std::span(name)));
  const Key key{static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32)};
  Random random(0x0102030405060708u, "init", 0x0a00000001u, 0x0b00000002u, 0x0c00000003u);
  for (std::uint32_t block = 0; block < 3; ++block) {
    for (const std::uint32_t word : philox_block(Counter{block, 1, 2, 3}, key)) {
      EXPECT_EQ(random.next_u32(), word);
    }
  }
}

TEST(Random, WordsComeInBlockOrderAndLowWordFirst) {
  Random words(1, "test"), pairs(1, "test");
  for (int i = 0; i < 10; ++i) {
    const std::uint64_t low = words.next_u32();
    const std::uint64_t high = words.next_u32();
    EXPECT_EQ(pairs.next_u64(), low | (high << 32));
  }
}

TEST(Random, EveryPartOfTheNameMatters) {
  const std::uint64_t high = std::uint64_t{1} << 32;
  std::vector<Random> streams = {
      Random(0, "x"),
      Random(1, "x"),
      Random(high, "x"),
      Random(0, "y"),
      Random(0, ""),
      Random(0, "x", 1),
      Random(0, "x", 0, 1),
      Random(0, "x", 0, 0, 1),
      Random(0, "x", high),
      Random(0, "x", 0, high),
      Random(0, "x", 0, 0, high),
      Random(0, "x", 1, 1, 1),
      Random(0, "xx"),
  };
  std::set<std::uint64_t> first;
  for (Random& stream : streams) first.insert(stream.next_u64());
  EXPECT_EQ(first.size(), streams.size());
}

TEST(Random, UniformLiesInTheUnitIntervalWithTheRightMoments) {
  Random random(3, "uniform");
  double sum = 0, squares = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const double value = random.uniform();
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / kCount, 0.5, 0.005);
  EXPECT_NEAR(squares / kCount, 1.0 / 3, 0.005);
}

TEST(Random, NormalHasTheRightMomentsAndTails) {
  Random random(4, "normal");
  double sum = 0, squares = 0, fourth = 0;
  int beyond_two = 0;
  constexpr int kCount = 200'000;
  for (int i = 0; i < kCount; ++i) {
    const double value = random.normal();
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
    if (std::abs(value) > 2) ++beyond_two;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.01);
  EXPECT_NEAR(squares / kCount, 1.0, 0.015);
  EXPECT_NEAR(fourth / kCount, 3.0, 0.1);
  EXPECT_NEAR(static_cast<double>(beyond_two) / kCount, 0.0455, 0.003);
}

// The library's own log and cos, which make the bits portable, against libm's.
TEST(Random, NormalIsBoxMuller) {
  Random normal(5, "normal"), uniform(5, "normal");
  for (int i = 0; i < 10'000; ++i) {
    const double u = uniform.uniform(), v = uniform.uniform();
    const double expected = std::sqrt(-2 * std::log(1 - u)) * std::cos(2 * std::acos(-1.0) * v);
    ASSERT_NEAR(normal.normal(), expected, 4e-15 * (1 + std::abs(expected)));
  }
}

TEST(Random, BelowStaysBelowAndHitsAll) {
  Random random(6, "below");
  for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{7}}) {
    std::vector<int> hits(bound);
    for (int i = 0; i < 7'000; ++i) {
      const std::uint64_t value = random.below(bound);
      ASSERT_LT(value, bound);
      ++hits[value];
    }
    for (const int count : hits) {
      EXPECT_NEAR(count, 7'000.0 / static_cast<double>(bound), 200) << "bound " << bound;
    }
  }
  EXPECT_EQ(random.below(1), 0u);
}

// With a bound of 3 * 2^62 a product without rejection would hit the lower two thirds unevenly:
// values of one residue mod 3 twice as often as the others.
TEST(Random, BelowIsUnbiasedForHugeBounds) {
  Random random(8, "below");
  const std::uint64_t bound = std::uint64_t{3} << 62;
  std::array<int, 3> hits{};
  for (int i = 0; i < 30'000; ++i) {
    const std::uint64_t value = random.below(bound);
    ASSERT_LT(value, bound);
    ++hits[value % 3];
  }
  for (const int count : hits) EXPECT_NEAR(count, 10'000, 400);
}

TEST(Random, BelowZeroIsRefused) {
  EXPECT_EQ(test::error_of([] { Random(1, "x").below(0); }).kind(), ErrorKind::bad_input);
}

TEST(RandomPermutation, HoldsEveryNumberOnce) {
  for (const std::uint32_t count : {0u, 1u, 2u, 1000u}) {
    std::vector<std::uint32_t> order = random_permutation(count, Random(1, "order", count));
    ASSERT_EQ(order.size(), count);
    std::sort(order.begin(), order.end());
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(order[i], i);
  }
}

TEST(RandomPermutation, DependsOnTheStreamAlone) {
  EXPECT_EQ(random_permutation(100, Random(1, "order")),
            random_permutation(100, Random(1, "order")));
  EXPECT_NE(random_permutation(100, Random(1, "order")),
            random_permutation(100, Random(2, "order")));
}

TEST(RandomPermutation, AllOrdersOfThreeAreEquallyLikely) {
  std::map<std::vector<std::uint32_t>, int> hits;
  for (std::uint64_t i = 0; i < 6'000; ++i) ++hits[random_permutation(3, Random(9, "order", i))];
  ASSERT_EQ(hits.size(), 6u);
  for (const auto& [order, count] : hits) EXPECT_NEAR(count, 1'000, 150);
}

}  // namespace
}  // namespace ddl
