// Exponents of the exact reduction: how they start, rise, fall, and survive a checkpoint.
#include "ddl/base/error.h"
#include "ddl/comm/exact.h"
#include "ddl/comm/thread_communicator.h"

#include <cmath>
#include <limits>

#include "unit/comm/reference_sums.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using namespace test;

constexpr std::int32_t kZero = ExactExponents::kZero;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(ExactExponents, ObservedAsTheSmallestBound) {
  ExactAccumulator accumulator({2}, 1);
  const auto observed = [](std::vector<float> values) {
    ExactAccumulator fresh({values.size()}, 1);
    fresh.observe_exponents(0, values);
    return fresh.exponents().exponents[0];
  };
  EXPECT_EQ(observed({1.0F, 0.0F}), 1);
  EXPECT_EQ(observed({std::nextafter(1.0F, 0.0F)}), 0);
  EXPECT_EQ(observed({0.3F, -0.6F}), 0);
  EXPECT_EQ(observed({-2.0F}), 2);
  EXPECT_EQ(observed({std::numeric_limits<float>::max()}), 128);
  EXPECT_EQ(observed({std::numeric_limits<float>::min()}), -125);
  EXPECT_EQ(observed({std::numeric_limits<float>::denorm_min()}), -148);
  EXPECT_EQ(observed({0.0F, -0.0F}), kZero);
  EXPECT_EQ(observed({}), kZero);
  EXPECT_EQ(observed({1.0F, kNan}), kZero);
  EXPECT_EQ(observed({kInfinity, 1.0F}), kZero);
  Random random(1, "exponents");
  for (int i = 0; i < 200; ++i) {
    const std::vector<float> values = random_tensor(1 + random.below(40), -60, 60, random);
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::fabs(value));
    int exponent = kZero;
    if (largest > 0) std::frexp(largest, &exponent);
    EXPECT_EQ(observed(values), exponent);
  }
}

TEST(ExactExponents, SeveralLooksKeepTheLargest) {
  ExactAccumulator accumulator({1, 1}, 1);
  for (const float value : {0.5F, 100.0F, kNan, 0.0F, 3.0F})
    accumulator.observe_exponents(1, std::vector<float>{value});
  EXPECT_EQ(accumulator.exponents().exponents, (std::vector<std::int32_t>{kZero, 7}));
}

TEST(ExactExponents, RiseAtOnceAndFallOneBitAStep) {
  const auto value = [](int exponent) { return std::ldexp(0.75F, exponent); };
  std::vector<Tasks> steps;
  for (const int exponent : {0, -3, -10, -10, 9, 9, 4, -20})
    steps.push_back({{{value(exponent)}}, {{value(exponent - 30)}}});
  std::vector<std::int32_t> exponents;
  for (const StepResult& result : run_steps({1}, 2, {{kZero}}, steps))
    exponents.push_back(result.exponents.exponents[0]);
  EXPECT_EQ(exponents, (std::vector<std::int32_t>{0, -1, -2, -3, 9, 9, 8, 7}));
}

TEST(ExactExponents, AZeroStepSaysNothing) {
  const Tasks zero = {{{0.0F, -0.0F}}};
  const std::vector<StepResult> got = run_steps({2}, 1, {{6}}, {zero, zero, {}, {{{0.01F, 0.0F}}}});
  EXPECT_EQ(got[0].exponents.exponents[0], 6);
  EXPECT_EQ(got[2].exponents.exponents[0], 6);
  EXPECT_EQ(got[3].exponents.exponents[0], 5);
  EXPECT_EQ(bits(got[0].sums[0]), bits({0.0F, 0.0F}));
}

// The largest value may be on any rank.
TEST(ExactExponents, AreThoseOfAllRanks) {
  const Tasks tasks = {{{0.1F}}, {{700.0F}}, {{0.2F}}};
  for (const Deal& deal :
       {Deal{{{1}}, {{0, 2}}}, Deal{{{0}}, {{2}}, {{1}}}, Deal{{{}}, {{0, 1, 2}}}}) {
    const StepResult got = run_steps({1}, 3, {{kZero}}, {tasks}, {deal}, 1.0)[0];
    EXPECT_EQ(got.exponents.exponents[0], 10);
  }
}

// 1.5 quanta become 2 and half a quantum becomes nothing: that shows which quantum was used.
void expect_step_exponent(std::vector<std::int32_t> exponents, std::size_t tensor, int expected) {
  std::vector<std::size_t> sizes(exponents.size(), 3);
  Tensors task(exponents.size(), std::vector<float>(3, 0.0F));
  task[tensor] = {std::ldexp(1.5F, expected - 40), std::ldexp(0.5F, expected - 40),
                  std::ldexp(-1.5F, expected - 40)};
  const StepResult got = run_steps(sizes, 1, {exponents}, {{task}})[0];
  ASSERT_FALSE(got.step.bad);
  EXPECT_EQ(got.sums[tensor], (std::vector<float>{std::ldexp(2.0F, expected - 40), 0.0F,
                                                  std::ldexp(-2.0F, expected - 40)}));
}

TEST(ExactExponents, ZeroTensorsUseTheModelsLargest) {
  expect_step_exponent({3, kZero, 12, -5}, 1, 12);
  expect_step_exponent({3, kZero, 12, -5}, 3, -5);
  expect_step_exponent({kZero, -7}, 0, -7);
  expect_step_exponent({kZero, kZero}, 1, 0);
}

TEST(ExactExponents, SavedAndSetAgainTheBitsGoOn) {
  Random random(9, "restore");
  const std::vector<std::size_t> sizes = {50, 0, 7000};
  std::vector<Tasks> steps;
  for (int s = 0; s < 6; ++s) steps.push_back(random_tasks(5, sizes, -20 - s, 4 - 3 * s, random));
  const ExactExponents start{{kZero, kZero, kZero}};
  const std::vector<StepResult> whole = run_steps(sizes, 5, start, steps);
  const std::vector<StepResult> first = run_steps(sizes, 5, start, {steps[0], steps[1], steps[2]});
  const std::vector<StepResult> rest =
      run_steps(sizes, 5, first[2].exponents, {steps[3], steps[4], steps[5]});
  for (std::size_t s = 0; s < 3; ++s) EXPECT_EQ(rest[s], whole[s + 3]);
  // And they are needed: without them the sums differ.
  const std::vector<StepResult> fresh = run_steps(sizes, 5, start, {steps[3]});
  EXPECT_NE(bits(fresh[0].sums[2]), bits(whole[3].sums[2]));
}

TEST(ExactExponents, ThatDoNotFitAreBadInput) {
  ExactAccumulator accumulator({1, 1}, 1);
  accumulator.set_exponents({{128, -148}});
  for (const std::vector<std::int32_t>& wrong :
       {std::vector<std::int32_t>{1}, {1, 2, 3}, {0, 129}, {-149, 0}, {INT32_MAX, 0}}) {
    try {
      accumulator.set_exponents({wrong});
      ADD_FAILURE() << wrong.size();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
    }
  }
  EXPECT_EQ(accumulator.exponents().exponents, (std::vector<std::int32_t>{128, -148}));
}

// From the bottom to the top of what floats hold.
TEST(ExactExponents, TheEndsOfFloatsRange) {
  const float largest = std::numeric_limits<float>::max();
  const StepResult top = run_steps({1}, 4, {{128}}, {{{{largest}}, {{-largest}}, {{0x1p100F}}}})[0];
  ASSERT_FALSE(top.step.bad);
  EXPECT_EQ(top.sums[0][0], 0x1p100F);
  EXPECT_EQ(top.exponents.exponents[0], 128);
  const float smallest = std::numeric_limits<float>::denorm_min();
  const StepResult bottom = run_steps({1}, 4, {{-148}}, {{{{smallest}}, {{smallest}}}})[0];
  EXPECT_EQ(bottom.sums[0][0], 2 * smallest);
  EXPECT_EQ(bottom.exponents.exponents[0], -148);
}

}  // namespace
}  // namespace ddl
