#include "ddl/train/task_ranges.h"

#include "ddl/base/error.h"
#include "ddl/base/random.h"

#include <gtest/gtest.h>

namespace ddl {
namespace {

// Any cut of any step into shorter ones stays a cut, in the planned proportion.
TEST(TaskRanges, ScaledRangesCutTheStep) {
  Random random(5, "ranges");
  for (int round = 0; round < 200; ++round) {
    const auto workers = static_cast<int>(1 + random.below(7));
    std::vector<TaskRange> planned;
    std::int64_t tasks = 0;
    for (int w = 0; w < workers; ++w) {
      planned.push_back({tasks, static_cast<std::int64_t>(random.below(9))});
      tasks += planned.back().count;
    }
    if (tasks == 0) continue;
    const auto now = static_cast<std::int64_t>(1 + random.below(static_cast<std::uint64_t>(tasks)));
    std::int64_t next = 0;
    for (const TaskRange& range : planned) {
      const TaskRange scaled = scaled_range(range, tasks, now);
      EXPECT_EQ(scaled.first, next);
      EXPECT_NEAR(static_cast<double>(scaled.count),
                  static_cast<double>(range.count * now) / static_cast<double>(tasks), 1.0);
      next += scaled.count;
      EXPECT_EQ(scaled_range(range, tasks, tasks), range);
    }
    EXPECT_EQ(next, now);
  }
}

TEST(TaskRanges, GapsAndOverlapsAreRefused) {
  Plan plan;
  plan.numerics.global_batch = 40;
  plan.numerics.task_samples = 10;
  plan.workers.resize(2);
  plan.workers[1].rank = 1;
  plan.workers[0].tasks = {0, 3};
  plan.workers[1].tasks = {3, 1};
  EXPECT_NO_THROW(require_whole_ranges(plan));
  plan.workers[1].tasks = {2, 2};
  EXPECT_THROW(require_whole_ranges(plan), Error);
  plan.workers[1].tasks = {3, 2};
  EXPECT_THROW(require_whole_ranges(plan), Error);
  plan.workers[1].tasks = {3, 1};
  plan.workers[1].rank = 0;
  EXPECT_THROW(require_whole_ranges(plan), Error);
}

}  // namespace
}  // namespace ddl
