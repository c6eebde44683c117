#include "ddl/train/agreement.h"

#include "ddl/comm/thread_communicator.h"

#include <atomic>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

TEST(Agreement, ErrorsOfOneReachAllAndAreToldOnce) {
  std::atomic<int> told{0}, silent{0}, passed{0};
  run_ranks(3, [&](Communicator& communicator) {
    agree(communicator, [] {});
    ++passed;
    try {
      agree(communicator, [&] {
        if (communicator.rank() >= 1) throw bad_input("no bread", "buy some");
      });
    } catch (const AgreedError& error) {
      ++told;
      EXPECT_EQ(communicator.rank(), 1);
      EXPECT_THAT(error.what(), testing::HasSubstr("worker 1 on"));
      EXPECT_THAT(error.what(), testing::HasSubstr("no bread"));
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    } catch (const ToldElsewhere& error) {
      ++silent;
      EXPECT_EQ(error.exit_code(), 2);
    }
    communicator.barrier();  // nobody is left behind in a collective
  });
  EXPECT_EQ(passed, 3);
  EXPECT_EQ(told, 1);
  EXPECT_EQ(silent, 2);
}

TEST(Agreement, AnErrorOfAllIsToldByTheFirstAsItIs) {
  std::atomic<int> told{0};
  run_ranks(2, [&](Communicator& communicator) {
    try {
      agree(communicator, [] { throw failure("disk is full"); });
    } catch (const AgreedError& error) {
      ++told;
      EXPECT_STREQ(error.what(), "disk is full");
      EXPECT_EQ(communicator.rank(), 0);
      EXPECT_EQ(error.exit_code(), 1);
    } catch (const ToldElsewhere& error) {
      EXPECT_EQ(error.exit_code(), 1);
    }
  });
  EXPECT_EQ(told, 1);
}

// M08
TEST(Agreement, DifferingSettingsAreNamedWithRanks) {
  std::atomic<int> told{0};
  run_ranks(3, [&](Communicator& communicator) {
    std::map<std::string, std::string> settings = {{"batch", "32"}, {"seed", "1"}};
    require_same_settings(communicator, settings);
    if (communicator.rank() == 2) settings["seed"] = "7";
    try {
      require_same_settings(communicator, settings);
      ADD_FAILURE() << "no error";
    } catch (const AgreedError& error) {
      ++told;
      EXPECT_THAT(error.what(), testing::HasSubstr("worker 2 has seed = 7"));
      EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("batch")));
    } catch (const ToldElsewhere&) {
    }
  });
  EXPECT_EQ(told, 1);
}

}  // namespace
}  // namespace ddl
