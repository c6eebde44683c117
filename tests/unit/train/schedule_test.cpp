#include "ddl/train/schedule.h"

#include "ddl/base/error.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace ddl {
namespace {

TEST(Schedule, ConstantIsConstant) {
  TrainingRecipe recipe;
  recipe.learning_rate = 0.25;
  recipe.length = "3ep";
  const Schedule schedule(recipe, 7);
  EXPECT_EQ(schedule.total_steps(), 21);
  for (std::int64_t step : {0, 1, 20}) EXPECT_EQ(schedule.learning_rate(step), 0.25F);
}

TEST(Schedule, WarmUpIsLinearAndCosineFollows) {
  TrainingRecipe recipe;
  recipe.learning_rate = 0.8;
  recipe.final_learning_rate = 0.2;
  recipe.schedule = "cosine";
  recipe.warmup = "4st";
  recipe.length = "24st";
  const Schedule schedule(recipe, 5);
  for (std::int64_t step = 0; step < 4; ++step)
    EXPECT_FLOAT_EQ(schedule.learning_rate(step), static_cast<float>(0.2 * (step + 1)));
  EXPECT_FLOAT_EQ(schedule.learning_rate(4), 0.8F);
  EXPECT_FLOAT_EQ(schedule.learning_rate(14), 0.5F);  // half way
  for (std::int64_t step = 4; step < 24; ++step)
    EXPECT_NEAR(schedule.learning_rate(step),
                0.2 + 0.3 * (1 + std::cos(std::numbers::pi * (step - 4) / 20.0)), 1e-7);
}

TEST(Schedule, RefusesWhatCannotBeRun) {
  TrainingRecipe recipe;
  recipe.length = "0ep";
  EXPECT_THROW(Schedule(recipe, 5), Error);
  recipe.length = "1ep";
  recipe.warmup = "6st";
  EXPECT_THROW(Schedule(recipe, 5), Error);
  recipe.warmup = "0st";
  recipe.schedule = "step";
  EXPECT_THROW(Schedule(recipe, 5), Error);
  recipe.schedule = "constant";
  recipe.learning_rate = std::nan("");
  EXPECT_THROW(Schedule(recipe, 5), Error);
}

}  // namespace
}  // namespace ddl
