#include "ddl/data/splits.h"

#include "ddl/base/error.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace ddl {
namespace {

std::uint64_t own_number(std::int64_t sample) {
  return static_cast<std::uint64_t>(sample);
}

std::int64_t count(const std::vector<std::int8_t>& splits, std::int8_t wanted) {
  return std::count(splits.begin(), splits.end(), wanted);
}

TEST(Splits, TotalsAreExactAndClassesKeepTheirShares) {
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 1000; ++i) labels.push_back(i % 10 < 7 ? 0 : i % 10 < 9 ? 1 : 2);
  const auto splits = cut_splits(1000, labels, {0.1, 0.2}, 1, own_number);
  EXPECT_EQ(count(splits, kTest), 200);
  EXPECT_EQ(count(splits, kVal), 100);
  std::int64_t test_of[3] = {}, val_of[3] = {};
  for (std::size_t i = 0; i < labels.size(); ++i) {
    test_of[labels[i]] += splits[i] == kTest ? 1 : 0;
    val_of[labels[i]] += splits[i] == kVal ? 1 : 0;
  }
  EXPECT_EQ(test_of[0], 140);
  EXPECT_EQ(test_of[1], 40);
  EXPECT_EQ(test_of[2], 20);
  EXPECT_EQ(val_of[0], 70);
}

TEST(Splits, SharesThatDoNotDivideAreRoundedToTheTotal) {
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 35; ++i) labels.push_back(i % 7);  // 5 of each: 10 % is half a sample
  EXPECT_EQ(count(cut_splits(35, labels, {0, 0.1}, 1, own_number), kTest), 4);
}

TEST(Splits, AClassOfOneStaysInTrain) {
  std::vector<std::int32_t> labels(100, 0);
  labels[50] = 1;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(cut_splits(100, labels, {0.4, 0.5}, seed, own_number)[50], kTrain);
}

TEST(Splits, RepeatFromTheSeedAndDifferBetweenSeeds) {
  const std::vector<std::int32_t> none;
  const auto first = cut_splits(100, none, {0.2, 0.2}, 7, own_number);
  EXPECT_EQ(cut_splits(100, none, {0.2, 0.2}, 7, own_number), first);
  EXPECT_NE(cut_splits(100, none, {0.2, 0.2}, 8, own_number), first);
}

TEST(Splits, FollowTheSampleKeyNotThePosition) {
  const std::vector<std::int32_t> none;
  const auto plain = cut_splits(100, none, {0, 0.3}, 7, own_number);
  const auto reversed = cut_splits(100, none, {0, 0.3}, 7, [](std::int64_t sample) {
    return static_cast<std::uint64_t>(99 - sample);
  });
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), reversed.rbegin()));
}

TEST(Splits, RefuseImpossibleFractions) {
  const std::vector<std::int32_t> none;
  EXPECT_THROW(cut_splits(10, none, {0.5, 0.5}, 1, own_number), Error);
  EXPECT_THROW(cut_splits(10, none, {-0.1, 0}, 1, own_number), Error);
  EXPECT_THROW(cut_splits(10, none, {0, 1}, 1, own_number), Error);
}

TEST(Splits, ZeroFractionsLeaveAllInTrain) {
  const std::vector<std::int32_t> labels(9, 0);
  EXPECT_EQ(count(cut_splits(9, labels, {0, 0}, 1, own_number), kTrain), 9);
}

}  // namespace
}  // namespace ddl
