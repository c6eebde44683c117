// Sums of the exact reduction: equal to a 128-bit reference, the same bits whoever adds, and as
// close to the true sum as the header promises.
#include "ddl/comm/exact.h"
#include "ddl/comm/thread_communicator.h"

#include <algorithm>
#include <cmath>

#include "unit/comm/reference_sums.h"
#include <gtest/gtest.h>

namespace ddl {
namespace {

using namespace test;

// Around the block of 65,536 elements and the width of vectors, and nothing at all.
const std::vector<std::size_t> kSizes = {0, 1, 7, 65535, 65536, 65537, 3, 140001, 0};

ExactExponents none(std::size_t tensors) {
  return {std::vector<std::int32_t>(tensors, ExactExponents::kZero)};
}

TEST(ExactSum, EqualsTheReferenceOverManyMagnitudes) {
  const std::vector<std::size_t> sizes = {5, 0, 1000, 1, 333};
  int good = 0, spilled = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Random random(seed, "magnitudes");
    const std::size_t tasks = 1 + random.below(20);
    const double scale = random.uniform() * 2 - 1;
    ReferenceAccumulator reference(sizes, static_cast<std::int64_t>(tasks));
    std::vector<Tasks> steps;
    // The size of each step moves by up to 8 bits, and a task's values reach from far below a
    // quantum to the largest; the first step of a model that starts at zero is often out of range.
    int top = static_cast<int>(random.below(180)) - 100;
    for (int s = 0; s < 5; ++s) {
      steps.push_back(random_tasks(tasks, sizes, top - 50, top, random));
      top += static_cast<int>(random.below(17)) - 8;
    }
    const std::vector<StepResult> got =
        run_steps(sizes, static_cast<std::int64_t>(tasks), none(sizes.size()), steps, scale);
    for (std::size_t s = 0; s < steps.size(); ++s) {
      StepResult expected;
      expected.step = reference.step(steps[s]);
      if (!expected.step.bad) expected.sums = reference.read(scale);
      expected.exponents.exponents = reference.exponents;
      EXPECT_EQ(got[s], expected) << "seed " << seed << ", step " << s;
      good += expected.step.bad ? 0 : 1;
      spilled += expected.step.spilled_tensors;
    }
  }
  // The inputs do try all of it.
  EXPECT_GT(good, 60);
  EXPECT_LT(good, 200);
  EXPECT_GT(spilled, 5);
}

TEST(ExactSum, SameBitsForAnyRanksLanesAndOrder) {
  Random random(3, "order");
  constexpr std::size_t kTasks = 11;
  ReferenceAccumulator reference(kSizes, kTasks);
  std::vector<Tasks> steps;
  for (int s = 0; s < 2; ++s) steps.push_back(random_tasks(kTasks, kSizes, -30, 3, random));
  const std::vector<StepResult> expected =
      run_steps(kSizes, kTasks, none(kSizes.size()), steps, 1.0 / 3);
  reference.step(steps[0]);
  for (std::size_t t = 0; t < kSizes.size(); ++t)
    ASSERT_EQ(bits(expected[0].sums[t]), bits(reference.read(1.0 / 3)[t])) << t;
  for (std::size_t ranks = 1; ranks <= 5; ++ranks) {
    const std::size_t lanes = 1 + (ranks + 1) % 4;
    std::vector<Deal> deals;
    for (std::size_t s = 0; s < steps.size(); ++s)
      deals.push_back(deal_tasks(kTasks, ranks, lanes, random));
    EXPECT_EQ(run_steps(kSizes, kTasks, none(kSizes.size()), steps, deals, 1.0 / 3), expected)
        << ranks << " ranks, " << lanes << " lanes";
  }
}

TEST(ExactSum, RanksWithoutTasksTakePart) {
  Random random(4, "idle ranks");
  const std::vector<std::size_t> sizes = {70000, 2};
  const std::vector<Tasks> steps = {random_tasks(3, sizes, -4, 4, random)};
  const std::vector<StepResult> expected = run_steps(sizes, 3, none(2), steps);
  // All on the last of three, and dealt 0, 2 and 1.
  EXPECT_EQ(run_steps(sizes, 3, none(2), steps, {{{{}}, {{}}, {{2, 0, 1}}}}, 1.0), expected);
  EXPECT_EQ(run_steps(sizes, 3, none(2), steps, {{{{}}, {{2}, {0}}, {{1}}}}, 1.0), expected);
  // A step without any task is a sum of zeros.
  const std::vector<StepResult> idle = run_steps(sizes, 3, none(2), {{}}, {{{{}}, {{}}}}, 1.0);
  EXPECT_FALSE(idle[0].step.bad);
  EXPECT_EQ(idle[0].exponents, none(2));
  EXPECT_EQ(bits(idle[0].sums[0]), bits(std::vector<float>(70000, 0.0F)));
}

TEST(ExactSum, LanesOfOneTensorMeet) {
  Random random(5, "lanes");
  const std::vector<std::size_t> sizes = {200000};
  constexpr std::size_t kTasks = 16;
  const std::vector<Tasks> steps = {random_tasks(kTasks, sizes, -20, 0, random)};
  const std::vector<StepResult> expected = run_steps(sizes, kTasks, none(1), steps);
  for (std::size_t lanes = 1; lanes <= 4; ++lanes) {
    const std::vector<Deal> deals = {deal_tasks(kTasks, 1, lanes, random)};
    EXPECT_EQ(run_steps(sizes, kTasks, none(1), steps, deals, 1.0), expected) << lanes;
  }
}

// Large values that cancel leave a sum of few quanta, which a float holds: what is read is the sum
// itself, and the true one is known in 128 bits.
TEST(ExactSum, ErrorStaysWithinHalfAQuantumATask) {
  Random random(6, "error");
  const std::vector<std::size_t> sizes = {5000};
  constexpr int kExponent = -7;
  for (const std::size_t pairs : {1, 3, 16}) {
    const std::size_t tasks = 2 * pairs;
    Tasks all;
    for (std::size_t p = 0; p < pairs; ++p) {
      std::vector<float> plus = random_tensor(sizes[0], kExponent - 30, kExponent - 3, random);
      plus[0] = std::ldexp(0.75F, kExponent);  // the bound
      std::vector<float> minus = plus;
      for (float& value : minus) {
        // Almost the opposite: a few of the last bits differ.
        value = -value;
        const auto ulps = random.below(4);
        for (std::uint64_t i = 0; i < ulps; ++i) value = std::nextafter(value, 0.0F);
      }
      all.push_back({plus});
      all.push_back({minus});
    }
    const std::vector<StepResult> got =
        run_steps(sizes, static_cast<std::int64_t>(tasks), {{kExponent}}, {all});
    ASSERT_FALSE(got[0].step.bad);
    // In units of 2^-62 quanta: a float of 24 bits above 2^(E - 80) is a whole number of them.
    Int128 worst = 0;
    for (std::size_t i = 0; i < sizes[0]; ++i) {
      Int128 truth = 0;
      for (const Tensors& task : all) {
        truth += static_cast<Int128>(
            std::ldexp(static_cast<long double>(task[0][i]), 62 + 40 - kExponent));
      }
      const auto sum = static_cast<Int128>(
          std::ldexp(static_cast<long double>(got[0].sums[0][i]), 62 + 40 - kExponent));
      worst = std::max(worst, sum > truth ? sum - truth : truth - sum);
    }
    EXPECT_LE(worst, static_cast<Int128>(tasks) << 61);
    EXPECT_GT(worst, Int128{1} << 59) << "the inputs do not try the bound";
  }
}

TEST(ExactSum, RangesAreReadAsTheWhole) {
  Random random(7, "ranges");
  const std::vector<std::size_t> sizes = {9, 100000};
  run_ranks(1, [&](Communicator& communicator) {
    ExactAccumulator accumulator(sizes, 2);
    accumulator.begin_step();
    accumulator.add(1, random_tensor(sizes[1], -9, 0, random));
    accumulator.add(1, random_tensor(sizes[1], -9, 0, random));
    ASSERT_FALSE(accumulator.reduce(communicator).bad);
    std::vector<float> whole(sizes[1]);
    accumulator.read(1, 0.1, whole);
    std::vector<float> pieces(sizes[1]);
    for (std::size_t at = 0; at < pieces.size();) {
      const std::size_t count = std::min<std::size_t>(random.below(9000), pieces.size() - at);
      accumulator.read_range(1, at, 0.1, std::span(pieces).subspan(at, count));
      at += count;
    }
    EXPECT_EQ(bits(pieces), bits(whole));
    std::vector<float> untouched(sizes[0], 1.0F);
    accumulator.read(0, 0.1, untouched);
    EXPECT_EQ(bits(untouched), bits(std::vector<float>(sizes[0], 0.0F)));
  });
}

TEST(ExactSum, ScaleIsAppliedInDoubleAndRoundedOnce) {
  // 2^24 + 1 quanta are no float: rounded before the scale, the result would be 2^-40 smaller.
  const float quantum = std::ldexp(1.0F, -40);
  run_ranks(1, [&](Communicator& communicator) {
    ExactAccumulator accumulator({1}, 2);
    accumulator.set_exponents({{0}});
    accumulator.begin_step();
    accumulator.add(0, std::vector<float>{std::ldexp(1.0F, -16)});
    accumulator.add(0, std::vector<float>{quantum});
    ASSERT_FALSE(accumulator.reduce(communicator).bad);
    std::vector<float> out(1);
    accumulator.read(0, 0.75, out);
    EXPECT_EQ(out[0], 12582913 * quantum);
  });
}

}  // namespace
}  // namespace ddl
