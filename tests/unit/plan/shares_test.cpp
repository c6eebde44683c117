#include "ddl/plan/shares.h"

#include "ddl/base/error.h"
#include "ddl/base/random.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using ::testing::ElementsAre;

double finish(const WorkerSpeed& worker, std::int64_t tasks) {
  const double rounds = std::ceil(static_cast<double>(tasks) / worker.lanes);
  return tasks == 0 ? worker.fixed_seconds : worker.fixed_seconds + rounds * worker.task_seconds;
}

double slowest(const std::vector<WorkerSpeed>& workers, const std::vector<std::int64_t>& tasks) {
  double out = 0;
  for (std::size_t i = 0; i < workers.size(); ++i)
    out = std::max(out, finish(workers[i], tasks[i]));
  return out;
}

// Every way to share: the smallest slowest finish, or infinity when the limits allow none.
double brute_force(std::int64_t tasks, const std::vector<WorkerSpeed>& workers) {
  double best = std::numeric_limits<double>::infinity();
  std::vector<std::int64_t> shares(workers.size(), 0);
  const std::function<void(std::size_t, std::int64_t)> give = [&](std::size_t i,
                                                                  std::int64_t left) {
    const std::int64_t limit = workers[i].maximum_tasks;
    if (i + 1 == workers.size()) {
      if (limit >= 0 && left > limit) return;
      shares[i] = left;
      best = std::min(best, slowest(workers, shares));
      return;
    }
    for (std::int64_t n = 0; n <= left && (limit < 0 || n <= limit); ++n) {
      shares[i] = n;
      give(i + 1, left - n);
    }
  };
  give(0, tasks);
  return best;
}

TEST(Shares, AsGoodAsEveryOtherWay) {
  Random random(7, "shares-test");
  for (int round = 0; round < 3000; ++round) {
    std::vector<WorkerSpeed> workers(1 + random.below(4));
    for (WorkerSpeed& worker : workers) {
      worker.task_seconds =
          random.below(4) == 0 ? 1 + static_cast<double>(random.below(3)) : 0.01 + random.uniform();
      worker.lanes = 1 + static_cast<int>(random.below(3));
      if (random.below(3) == 0) worker.fixed_seconds = random.uniform();
      if (random.below(4) == 0) worker.maximum_tasks = static_cast<std::int64_t>(random.below(6));
      if (random.below(8) == 0) worker.task_seconds = std::numeric_limits<double>::infinity();
    }
    const auto tasks = static_cast<std::int64_t>(random.below(11));
    const double best = brute_force(tasks, workers);
    if (!std::isfinite(best)) {
      EXPECT_THROW(minimise_slowest_finish(tasks, workers), Error);
      continue;
    }
    const Shares shares = minimise_slowest_finish(tasks, workers);
    ASSERT_EQ(std::accumulate(shares.tasks.begin(), shares.tasks.end(), std::int64_t{0}), tasks);
    ASSERT_DOUBLE_EQ(slowest(workers, shares.tasks), best) << "round " << round;
    ASSERT_DOUBLE_EQ(shares.finish_seconds, best);
    ASSERT_GE(shares.rounding_loss, 0);
    for (std::size_t i = 0; i < workers.size(); ++i)
      if (workers[i].maximum_tasks >= 0) {
        ASSERT_LE(shares.tasks[i], workers[i].maximum_tasks);
      }
  }
}

TEST(Shares, KnownAnswers) {
  const auto tasks = [](std::int64_t total, std::vector<WorkerSpeed> workers) {
    return minimise_slowest_finish(total, workers).tasks;
  };
  EXPECT_THAT(tasks(6, {{1}, {2}}), ElementsAre(4, 2));
  EXPECT_THAT(tasks(8, {{1, 2}, {1, 2}}), ElementsAre(4, 4));
  EXPECT_THAT(tasks(5, {{3}}), ElementsAre(5));
  EXPECT_THAT(tasks(0, {{1}, {1}}), ElementsAre(0, 0));
  EXPECT_THAT(tasks(4, {{1, 1, 0, 1}, {5}}), ElementsAre(1, 3));
  // Ties: the faster worker first, then the lower rank; workers without tasks are fine.
  EXPECT_THAT(tasks(3, {{1}, {1}}), ElementsAre(2, 1));
  EXPECT_THAT(tasks(1, {{2}, {2}, {2}}), ElementsAre(1, 0, 0));
  EXPECT_THAT(tasks(3, {{2}, {1}, {1}}), ElementsAre(0, 2, 1));
  EXPECT_THAT(tasks(2, {{1}, {1}, {1}, {1}, {1}}), ElementsAre(1, 1, 0, 0, 0));
}

TEST(Shares, RoundingLossIsAgainstTheFractionalOptimum) {
  const std::vector<WorkerSpeed> two = {{1}, {1}};
  EXPECT_NEAR(minimise_slowest_finish(3, two).rounding_loss, 2 / 1.5 - 1, 1e-9);
  EXPECT_NEAR(minimise_slowest_finish(4, two).rounding_loss, 0, 1e-9);
  const std::vector<WorkerSpeed> lanes = {{1, 4}};
  EXPECT_NEAR(minimise_slowest_finish(5, lanes).rounding_loss, 2 / 1.25 - 1, 1e-9);
}

TEST(Shares, ManyTasksAndWorkers) {
  Random random(3, "shares-many");
  std::vector<WorkerSpeed> workers(2000);
  for (WorkerSpeed& worker : workers) worker.task_seconds = 0.5 + random.uniform();
  const std::int64_t tasks = std::int64_t{1} << 40;
  const Shares shares = minimise_slowest_finish(tasks, workers);
  EXPECT_EQ(std::accumulate(shares.tasks.begin(), shares.tasks.end(), std::int64_t{0}), tasks);
  EXPECT_LT(shares.rounding_loss, 1e-6);
}

TEST(Shares, RefusesWhatMakesNoSense) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const WorkerSpeed& worker :
       {WorkerSpeed{0}, WorkerSpeed{-1}, WorkerSpeed{nan}, WorkerSpeed{1, 0}, WorkerSpeed{1, -2},
        WorkerSpeed{1, 1, -1}, WorkerSpeed{1, 1, nan}, WorkerSpeed{1, 1, 0, 0}})
    EXPECT_THROW(minimise_slowest_finish(4, std::vector{worker}), Error);
  EXPECT_THROW(minimise_slowest_finish(4, {}), Error);
  EXPECT_THROW(minimise_slowest_finish(-1, std::vector{WorkerSpeed{1}}), Error);
}

}  // namespace
}  // namespace ddl
