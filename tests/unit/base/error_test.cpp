#include "ddl/base/error.h"

#include <array>
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Error, MessageIsOneLineInAFixedOrder) {
  Error error = bad_input("found \"x\"", "expected a number");
  EXPECT_STREQ(error.what(), "found \"x\"; expected a number");
  error.with_pointer("/fields/0").with_file("dataset.json");
  EXPECT_STREQ(error.what(), "dataset.json: /fields/0: found \"x\"; expected a number");
  error.with_rank(3);
  EXPECT_STREQ(error.what(), "rank 3: dataset.json: /fields/0: found \"x\"; expected a number");
}

TEST(Error, TheThrowerKnowsBest) {
  Error error = failure("torn").with_file("a.h5").with_pointer("chunk 3").with_rank(0);
  error.with_file("b.json").with_pointer("/x").with_rank(7);
  EXPECT_EQ(error.file(), "a.h5");
  EXPECT_EQ(error.pointer(), "chunk 3");
  EXPECT_EQ(error.rank(), 0);
  EXPECT_STREQ(error.what(), "rank 0: a.h5: chunk 3: torn");
}

TEST(Error, LineBreaksOfOthersAreRemoved) {
  EXPECT_STREQ(failure("library says:\nno\n").with_file("odd\nname").what(),
               "odd name: library says: no");
}

TEST(Error, KindsDecideExitCodes) {
  EXPECT_EQ(bad_input("x").exit_code(), 2);
  EXPECT_EQ(failure("x").exit_code(), 1);
  EXPECT_EQ(system_failure("x", EIO).exit_code(), 1);
  EXPECT_EQ(Error(ErrorKind::stopped, "x").exit_code(), 75);
  EXPECT_EQ(failure("x").rank(), -1);
}

TEST(Error, SystemFailureSpellsOutTheNumber) {
  EXPECT_STREQ(system_failure("cannot write", ENOSPC, "free some space").what(),
               "cannot write: No space left on device; free some space");
}

TEST(NearestName, FindsSlipsAndNothingElse) {
  constexpr std::array<std::string_view, 4> kNames = {"learning-rate", "epochs", "seed", "out"};
  const auto nearest = [&](std::string_view word) {
    return nearest_name(word, kNames.data(), kNames.data() + kNames.size());
  };
  EXPECT_EQ(nearest("epoch"), "epochs");
  EXPECT_EQ(nearest("epohcs"), "epochs");
  EXPECT_EQ(nearest("learningrate"), "learning-rate");
  EXPECT_EQ(nearest("sede"), "seed");
  EXPECT_EQ(nearest("oyt"), "out");
  EXPECT_EQ(nearest("otu"), "out");
  EXPECT_EQ(nearest("momentum"), "");
  EXPECT_EQ(nearest("xyz"), "");
  EXPECT_EQ(nearest("q"), "");
  EXPECT_EQ(nearest(""), "");
  EXPECT_EQ(nearest_name("x", nullptr, nullptr), "");
}

TEST(NearestName, TheFirstOfEquallyNearWins) {
  constexpr std::array<std::string_view, 2> kNames = {"abcx", "abcy"};
  EXPECT_EQ(nearest_name("abcz", kNames.data(), kNames.data() + kNames.size()), "abcx");
}

}  // namespace
}  // namespace ddl
