// Against the published formulas in double precision.
#include "ddl/train/optimizer.h"

#include "ddl/base/error.h"
#include "ddl/base/random.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace ddl {
namespace {

constexpr std::size_t kElements = 4099;  // not a multiple of any block

std::vector<float> gradients(std::uint64_t step) {
  Random random(3, "gradient", step);
  std::vector<float> out(kElements);
  for (float& value : out) value = static_cast<float>(random.normal());
  return out;
}

// Ten updates, in pieces as the trainer makes them.
std::vector<float> updated(const TrainingRecipe& recipe) {
  Optimizer optimizer(recipe, {3, kElements});
  std::vector<float> weights(kElements, 0.5F);
  for (std::uint64_t step = 0; step < 10; ++step) {
    const std::vector<float> gradient = gradients(step);
    optimizer.begin_update();
    for (std::size_t first = 0; first < kElements; first += 1000) {
      const std::size_t count = std::min<std::size_t>(1000, kElements - first);
      optimizer.update(1, first, 0.01F, std::span(gradient).subspan(first, count),
                       std::span(weights).subspan(first, count));
    }
  }
  EXPECT_EQ(optimizer.updates(), 10);
  return weights;
}

TEST(Optimizer, SgdWithMomentumAndDecay) {
  TrainingRecipe recipe;
  recipe.momentum = 0.9;
  recipe.weight_decay = 0.05;
  const std::vector<float> got = updated(recipe);
  std::vector<double> weights(kElements, 0.5), velocity(kElements, 0.0);
  for (std::uint64_t step = 0; step < 10; ++step) {
    const std::vector<float> gradient = gradients(step);
    for (std::size_t i = 0; i < kElements; ++i) {
      velocity[i] = 0.9 * velocity[i] + gradient[i] + 0.05 * weights[i];
      weights[i] -= 0.01 * velocity[i];
    }
  }
  for (std::size_t i = 0; i < kElements; ++i) ASSERT_NEAR(got[i], weights[i], 2e-6) << i;
}

TEST(Optimizer, PlainSgdKeepsNoState) {
  TrainingRecipe recipe;
  recipe.momentum = 0;
  const std::vector<float> got = updated(recipe);
  std::vector<double> weights(kElements, 0.5);
  for (std::uint64_t step = 0; step < 10; ++step) {
    const std::vector<float> gradient = gradients(step);
    for (std::size_t i = 0; i < kElements; ++i) weights[i] -= 0.01 * gradient[i];
  }
  for (std::size_t i = 0; i < kElements; i += 97) ASSERT_NEAR(got[i], weights[i], 1e-6) << i;
  Optimizer optimizer(recipe, {5});
  EXPECT_TRUE(optimizer.state().empty());
  EXPECT_EQ(optimizer.bytes(), 0U);
}

TEST(Optimizer, AdamWIsDecoupledAndCorrected) {
  TrainingRecipe recipe;
  recipe.optimizer = "adamw";
  recipe.beta1 = 0.8;
  recipe.beta2 = 0.95;
  recipe.weight_decay = 0.1;
  const std::vector<float> got = updated(recipe);
  std::vector<double> weights(kElements, 0.5), m(kElements, 0.0), v(kElements, 0.0);
  for (std::uint64_t step = 0; step < 10; ++step) {
    const std::vector<float> gradient = gradients(step);
    const double t = static_cast<double>(step) + 1;
    for (std::size_t i = 0; i < kElements; ++i) {
      const double g = gradient[i];
      weights[i] -= 0.01 * 0.1 * weights[i];
      m[i] = 0.8 * m[i] + 0.2 * g;
      v[i] = 0.95 * v[i] + 0.05 * g * g;
      weights[i] -= 0.01 * (m[i] / (1 - std::pow(0.8, t))) /
                    (std::sqrt(v[i] / (1 - std::pow(0.95, t))) + 1e-8);
    }
  }
  for (std::size_t i = 0; i < kElements; ++i) ASSERT_NEAR(got[i], weights[i], 5e-6) << i;
}

TEST(Optimizer, RefusesCoefficientsOutOfRange) {
  TrainingRecipe recipe;
  recipe.optimizer = "adam";
  EXPECT_THROW(Optimizer(recipe, {1}), Error);
  recipe = {};
  recipe.momentum = 1;
  EXPECT_THROW(Optimizer(recipe, {1}), Error);
  recipe = {};
  recipe.optimizer = "adamw";
  recipe.epsilon = 0;
  EXPECT_THROW(Optimizer(recipe, {1}), Error);
  recipe = {};
  recipe.weight_decay = -1;
  EXPECT_THROW(Optimizer(recipe, {1}), Error);
}

}  // namespace
}  // namespace ddl
