#include "ddl/train/processors.h"

#include "ddl/train/setup.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

TEST(Processors, ThisProcessMayRunSomewhere) {
  EXPECT_FALSE(allowed_processors().empty());
}

// R02
TEST(Processors, WorkersThatShareCoresAreNamed) {
  EXPECT_TRUE(shared_processor_warnings({"a:1:0,1,", "a:1:0,1,"}).empty());
  EXPECT_TRUE(shared_processor_warnings({"a:4:0,"}).empty()) << "one worker is its own affair";
  EXPECT_TRUE(shared_processor_warnings({"a:1:0,", "b:1:0,"}).empty()) << "two hosts";
  const auto warnings = shared_processor_warnings({"a:1:3,", "b:2:0,1,", "a:1:3,"});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], testing::HasSubstr("2 workers on a"));
  EXPECT_THAT(warnings[0], testing::HasSubstr("1 processor:"));
}

TEST(Processors, TheUsersVariableWins) {
  std::string how;
  ::unsetenv("OMP_NUM_THREADS");
  EXPECT_EQ(choose_lanes(1, 1, &how), 1);
  EXPECT_GE(choose_lanes(1000, 1, &how), 1);
  EXPECT_LT(choose_lanes(1000000, 1, &how), 1000000);
  EXPECT_THAT(how, testing::HasSubstr("planned 1000000"));
  ::setenv("OMP_NUM_THREADS", "3", 1);
  EXPECT_EQ(choose_lanes(1, 1, &how), 3);
  EXPECT_EQ(how, "OMP_NUM_THREADS");
  ::unsetenv("OMP_NUM_THREADS");
}

}  // namespace
}  // namespace ddl
