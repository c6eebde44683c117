#include "ddl/compute/memory_plan.h"

#include "ddl/base/random.h"

#include <algorithm>

#include "unit/compute/training_problem.h"
#include <gtest/gtest.h>

namespace ddl::test {
namespace {

bool overlap(std::size_t a, std::size_t a_bytes, std::size_t b, std::size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

TEST(MemoryPlan, LivingBuffersDoNotOverlap) {
  Random random(1, "memory plan");
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<BufferLife> lives;
    for (int i = 0; i < 60; ++i) {
      const auto first = static_cast<int>(random.below(40));
      lives.push_back({random.below(5000), first, first + static_cast<int>(random.below(12))});
    }
    const MemoryPlan plan = plan_memory(lives);
    for (std::size_t a = 0; a < lives.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % kArenaAlignment, 0U);
      EXPECT_LE(plan.offsets[a] + lives[a].bytes, plan.bytes);
      for (std::size_t b = 0; b < a; ++b) {
        if (lives[a].last < lives[b].first || lives[b].last < lives[a].first) continue;
        EXPECT_FALSE(overlap(plan.offsets[a], lives[a].bytes, plan.offsets[b], lives[b].bytes));
      }
    }
    EXPECT_GE(plan.bytes, plan.lower_bound_bytes);
    EXPECT_LE(static_cast<double>(plan.bytes), 1.4 * static_cast<double>(plan.lower_bound_bytes));
  }
}

TEST(MemoryPlan, ReusesMemoryOfTheDead) {
  const std::vector<BufferLife> lives{{640, 0, 1}, {640, 1, 2}, {640, 2, 3}, {640, 3, 4}};
  const MemoryPlan plan = plan_memory(lives);
  EXPECT_EQ(plan.bytes, 1280U);
  EXPECT_EQ(plan.lower_bound_bytes, 1280U);
}

TEST(MemoryPlan, TakesTheSmallestGapThatFits) {
  // Two gaps open when the second and the fourth buffer die; the last one fits into the smaller.
  const std::vector<BufferLife> lives{{1024, 0, 9}, {512, 0, 4}, {900, 0, 9},
                                      {128, 0, 4},  {800, 0, 9}, {64, 5, 9}};
  const MemoryPlan plan = plan_memory(lives);
  EXPECT_EQ(plan.bytes, plan.lower_bound_bytes);
  EXPECT_LT(plan.offsets[5], plan.bytes);
}

TEST(MemoryPlan, UnusedBuffersTakeNothing) {
  const std::vector<BufferLife> lives{{640, 3, -1}, {0, 0, 1}};
  EXPECT_EQ(plan_memory(lives).bytes, 0U);
  EXPECT_EQ(plan_memory({}).bytes, 0U);
}

TEST(MemoryPlan, ModelsStayNearTheirLowerBound) {
  for (const ModelCase& model : model_cases()) {
    const TrainingProblem made = make_training_problem(model, 1);
    const auto statistics = made.problem.executor()->statistics();
    EXPECT_GT(statistics.liveness_lower_bound_bytes, 0U) << model.name;
    EXPECT_GE(statistics.lane_bytes, statistics.liveness_lower_bound_bytes) << model.name;
    EXPECT_LE(static_cast<double>(statistics.lane_bytes),
              1.1 * static_cast<double>(statistics.liveness_lower_bound_bytes))
        << model.name;
  }
}

}  // namespace
}  // namespace ddl::test
