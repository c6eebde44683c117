#include "ddl/data/order.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

namespace ddl {
namespace {

TEST(SampleOrder, EveryEpochHoldsEverySampleOnce) {
  for (const std::int64_t samples : {0, 1, 2, 7, 1000}) {
    const SampleOrder order("hash", 3, samples, "full");
    for (const std::int64_t epoch : {0, 1, 5}) {
      std::vector<std::uint32_t> sorted = order.epoch(epoch);
      std::sort(sorted.begin(), sorted.end());
      std::vector<std::uint32_t> expected(static_cast<std::size_t>(samples));
      std::iota(expected.begin(), expected.end(), 0U);
      EXPECT_EQ(sorted, expected);
    }
  }
}

TEST(SampleOrder, DependsOnDataSeedAndEpochAndNothingElse) {
  const SampleOrder order("hash", 3, 100, "full");
  const std::vector<std::uint32_t> first = order.epoch(0);
  const std::vector<std::uint32_t> second = order.epoch(1);
  EXPECT_NE(first, second);
  EXPECT_EQ(order.epoch(0), first);
  EXPECT_EQ(SampleOrder("hash", 3, 100, "full").epoch(1), second);
  EXPECT_NE(SampleOrder("hash", 4, 100, "full").epoch(0), first);
  EXPECT_NE(SampleOrder("other", 3, 100, "full").epoch(0), first);
}

TEST(SampleOrder, NoneIsTheStoredOrder) {
  const SampleOrder order("hash", 3, 4, "none");
  EXPECT_EQ(order.epoch(9), (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(SampleOrder, RefusesUnknownOrdersAndSizes) {
  EXPECT_THROW(SampleOrder("hash", 3, 4, "random"), Error);
  EXPECT_THROW(SampleOrder("hash", 3, -1, "full"), Error);
  EXPECT_THROW(SampleOrder("hash", 3, std::int64_t{1} << 32, "full"), Error);
}

TEST(StepTasks, CoverEverySampleOnceInEvenTasks) {
  for (const std::int64_t samples : {1, 5, 10, 63, 64, 65, 130}) {
    for (const std::int64_t batch : {1, 7, 32, 64}) {
      for (const std::int64_t task : {1, 3, 8, 100}) {
        std::int64_t next = 0;
        for (std::int64_t step = 0; step < steps_per_epoch(samples, batch); ++step) {
          const StepTasks tasks = step_tasks(samples, batch, task, step);
          const std::int64_t count = tasks.first.back() - tasks.first.front();
          EXPECT_EQ(tasks.first.front(), next);
          EXPECT_EQ(tasks.tasks(), (count + task - 1) / task);
          for (std::int64_t t = 0; t < tasks.tasks(); ++t) {
            const auto i = static_cast<std::size_t>(t);
            const std::int64_t size = tasks.first[i + 1] - tasks.first[i];
            EXPECT_GE(size, 1);
            EXPECT_LE(size, task);
            // Larger ones first, differing by at most one.
            EXPECT_LE(size, tasks.first[1] - tasks.first[0]);
            EXPECT_GE(size, tasks.first[1] - tasks.first[0] - 1);
          }
          next = tasks.first.back();
        }
        EXPECT_EQ(next, samples);
      }
    }
  }
}

TEST(StepTasks, LastBatchOfTenInTasksOfFour) {
  EXPECT_EQ(step_tasks(42, 32, 4, 1).first, (std::vector<std::int64_t>{32, 36, 39, 42}));
}

TEST(StepTasks, RefusesWhatCannotBeCut) {
  EXPECT_THROW(steps_per_epoch(10, 0), Error);
  EXPECT_THROW(step_tasks(10, 4, 0, 0), Error);
  EXPECT_THROW(step_tasks(10, 4, 2, 3), Error);
  EXPECT_EQ(steps_per_epoch(0, 4), 0);
}

}  // namespace
}  // namespace ddl
