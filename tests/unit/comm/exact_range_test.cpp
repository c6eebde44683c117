// The ends of the range: the limit of the first accumulator, the second one, and what is beyond.
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

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int32_t kZero = ExactExponents::kZero;

int ceil_log2(std::int64_t value) {
  int bits = 0;
  while ((std::int64_t{1} << bits) < value) ++bits;
  return bits;
}

// One step of tasks of one element each.
StepResult one_step(const std::vector<float>& values, int exponent, std::int64_t tasks_per_step) {
  Tasks tasks;
  for (const float value : values) tasks.push_back({{value}});
  return run_steps({1}, tasks_per_step, {{exponent}}, {tasks})[0];
}

TEST(ExactRange, TheLimitItselfStaysInTheFirstAccumulator) {
  for (const std::int64_t tasks : {1, 2, 3, 4, 5, 64, 65, 1 << 20, 1 << 22}) {
    for (const int exponent : {-100, -3, 0, 20}) {
      const float limit = std::ldexp(1.0F, exponent - 40 + 62 - ceil_log2(tasks));
      const float beyond = std::nextafter(limit, kInfinity);
      for (const float sign : {1.0F, -1.0F}) {
        const StepResult at = one_step({sign * limit}, exponent, tasks);
        EXPECT_FALSE(at.step.bad);
        EXPECT_EQ(at.step.spilled_tensors, 0) << tasks << " " << exponent;
        EXPECT_EQ(at.sums[0][0], sign * limit);
        const StepResult over = one_step({sign * beyond}, exponent, tasks);
        EXPECT_FALSE(over.step.bad);
        EXPECT_EQ(over.step.spilled_tensors, 1) << tasks << " " << exponent;
        const auto quanta = static_cast<float>(test::reference_quanta(beyond, exponent + 24));
        EXPECT_EQ(over.sums[0][0], sign * std::ldexp(quanta, exponent - 16));
      }
    }
  }
}

TEST(ExactRange, AllTasksAtTheLimitDoNotOverflow) {
  for (const std::int64_t tasks : {1, 4, 5, 31}) {
    constexpr int kExponent = 3;
    for (const int quantum_bits : {0, 24}) {
      const float limit = std::ldexp(1.0F, kExponent - 40 + quantum_bits + 62 - ceil_log2(tasks));
      for (const float value : {limit, -limit}) {
        const StepResult got =
            one_step(std::vector<float>(static_cast<std::size_t>(tasks), value), kExponent, tasks);
        ASSERT_FALSE(got.step.bad);
        EXPECT_EQ(got.step.spilled_tensors, quantum_bits == 0 ? 0 : 1);
        EXPECT_EQ(got.sums[0][0], static_cast<float>(tasks) * value) << tasks;
      }
    }
  }
}

TEST(ExactRange, TheEndOfTheSecondAccumulator) {
  for (const std::int64_t tasks : {1, 7}) {
    const float limit = std::ldexp(1.0F, -20 - 40 + 24 + 62 - ceil_log2(tasks));
    EXPECT_FALSE(one_step({-limit}, -20, tasks).step.bad);
    const StepResult over = one_step({std::nextafter(limit, kInfinity)}, -20, tasks);
    EXPECT_TRUE(over.step.bad);
    EXPECT_EQ(over.step.bad_tensor, 0);
    // Beyond both ranges is a size all the same: the next step finds room for it.
    EXPECT_EQ(over.exponents.exponents[0], -20 - 40 + 24 + 63 - ceil_log2(tasks));
  }
}

// A task beyond the limit goes to the second accumulator as a whole, its small values too, and
// takes no other task along.
TEST(ExactRange, EachTaskChoosesItsAccumulatorAlone) {
  const float huge = std::ldexp(1.0F, 25);     // E = 0, M = 4: the limit is 2^20
  const float fine = std::ldexp(1.0F, -40);    // one quantum
  const float coarse = std::ldexp(1.5F, -16);  // 1.5 quanta of the second: becomes 2
  const Tasks tasks = {{{fine, 0.5F}}, {{coarse, huge}}, {{fine, -0.25F}}};
  Random random(1, "spill");
  const std::vector<Tasks> steps = {tasks};
  const StepResult expected = run_steps({2}, 4, {{0}}, steps)[0];
  ASSERT_FALSE(expected.step.bad);
  EXPECT_EQ(expected.step.spilled_tensors, 1);
  EXPECT_EQ(expected.sums[0][0],
            static_cast<float>(2 * std::ldexp(1.0, -40) + 2 * std::ldexp(1.0, -16)));
  EXPECT_EQ(expected.sums[0][1], static_cast<float>(std::ldexp(1.0, 25) + 0.25));
  for (std::size_t ranks = 1; ranks <= 4; ++ranks) {
    for (int trial = 0; trial < 6; ++trial) {
      const Deal deal = deal_tasks(3, ranks, 2, random);
      EXPECT_EQ(run_steps({2}, 4, {{0}}, steps, {deal}, 1.0)[0], expected);
    }
  }
}

// Jumps over the bound at random, on some tensors of some tasks, against the reference.
TEST(ExactRange, SpillsEqualTheReference) {
  const std::vector<std::size_t> sizes = {300, 70000, 1, 20};
  constexpr std::size_t kTasks = 6;
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Random random(seed, "spills");
    Tasks tasks = random_tasks(kTasks, sizes, -30, -3, random);
    for (Tensors& task : tasks) {
      for (std::vector<float>& tensor : task) {
        if (random.below(3) == 0)
          tensor[random.below(tensor.size())] =
              std::ldexp(-1.25F, 15 + static_cast<int>(random.below(25)));
      }
    }
    ReferenceAccumulator reference(sizes, kTasks);
    reference.exponents = {0, -2, 1, 0};
    const ExactExponents start{reference.exponents};
    StepResult expected;
    expected.step = reference.step(tasks);
    expected.sums = reference.read(1.0);
    expected.exponents.exponents = reference.exponents;
    ASSERT_FALSE(expected.step.bad) << seed;
    EXPECT_GT(expected.step.spilled_tensors, 0);
    for (std::size_t ranks = 1; ranks <= 4; ++ranks) {
      const Deal deal = deal_tasks(kTasks, ranks, 3, random);
      EXPECT_EQ(run_steps(sizes, kTasks, start, {tasks}, {deal}, 1.0)[0], expected) << seed;
    }
  }
}

// What runs after the second accumulator was used begins with a clean one.
TEST(ExactRange, TheSecondAccumulatorIsForgotten) {
  const std::vector<Tasks> steps = {{{{std::ldexp(1.0F, 30)}}}, {{{1.0F}}}, {{}}};
  const std::vector<StepResult> got = run_steps({1}, 1, {{0}}, steps);
  EXPECT_EQ(got[0].step.spilled_tensors, 1);
  EXPECT_EQ(got[0].sums[0][0], std::ldexp(1.0F, 30));
  EXPECT_EQ(got[1].step.spilled_tensors, 0);
  EXPECT_EQ(got[1].sums[0][0], 1.0F);
  EXPECT_EQ(got[2].sums[0][0], 0.0F);
}

// The first task of a step spills at its very end, over sums of the step before.
TEST(ExactRange, ASpillLeavesNoOldSums) {
  const std::vector<std::size_t> sizes = {70000};
  Random random(8, "old sums");
  for (const std::size_t at : {std::size_t{5000}, std::size_t{65535}, std::size_t{69999}}) {
    std::vector<float> spilling(sizes[0], 0.0F);
    spilling[at] = std::ldexp(1.0F, 30);
    const std::vector<Tasks> steps = {random_tasks(2, sizes, -10, -3, random), {{spilling}}};
    const std::vector<StepResult> got = run_steps(sizes, 2, {{0}}, steps);
    EXPECT_EQ(got[1].step.spilled_tensors, 1);
    EXPECT_EQ(bits(got[1].sums[0]), bits(spilling)) << at;
  }
}

TEST(ExactRange, NanAndInfinityAreBadOnAllRanks) {
  for (const float value : {kNan, -kNan, kInfinity, -kInfinity}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{65535}, std::size_t{69999}}) {
      Random random(at, "bad");
      Tasks tasks = random_tasks(4, {5, 70000, 3}, -5, 0, random);
      tasks[2][1][at] = value;
      for (std::size_t ranks = 1; ranks <= 3; ++ranks) {
        const Deal deal = deal_tasks(4, ranks, 2, random);
        const StepResult got = run_steps({5, 70000, 3}, 4, {{0, 0, 0}}, {tasks}, {deal}, 1.0)[0];
        EXPECT_TRUE(got.step.bad);
        EXPECT_EQ(got.step.bad_tensor, 1);
      }
    }
  }
}

TEST(ExactRange, TheLowestBadTensorIsNamed) {
  Random random(2, "lowest");
  Tasks tasks = random_tasks(3, {4, 4, 4, 4}, -5, 0, random);
  tasks[0][3][0] = kNan;
  tasks[1][2][1] = std::numeric_limits<float>::max();  // beyond both ranges of E = 0
  tasks[2][3][2] = kInfinity;
  for (std::size_t ranks = 1; ranks <= 4; ++ranks) {
    const Deal deal = deal_tasks(3, ranks, 1, random);
    const StepResult got = run_steps({4, 4, 4, 4}, 3, {{0, 0, 0, 0}}, {tasks}, {deal}, 1.0)[0];
    EXPECT_TRUE(got.step.bad);
    EXPECT_EQ(got.step.bad_tensor, 2);
  }
}

TEST(ExactRange, ABadStepLeavesNothingBehind) {
  const std::vector<StepResult> got =
      run_steps({2}, 2, {{0}}, {{{{kNan, 0.5F}}, {{0.25F, 0.5F}}}, {{{0.5F, 0.25F}}}});
  EXPECT_TRUE(got[0].step.bad);
  EXPECT_FALSE(got[1].step.bad);
  EXPECT_EQ(got[1].step.bad_tensor, -1);
  EXPECT_EQ(got[1].sums[0], (std::vector<float>{0.5F, 0.25F}));
}

// A step of nothing but NaN or Inf says nothing about a tensor's size.
TEST(ExactRange, NanLeavesTheExponentAlone) {
  const StepResult got =
      run_steps({1, 1, 1}, 1, {{5, kZero, -3}}, {{{{kNan}, {kInfinity}, {0.01F}}}})[0];
  EXPECT_TRUE(got.step.bad);
  EXPECT_EQ(got.exponents.exponents[0], 5);
  EXPECT_EQ(got.exponents.exponents[1], kZero);
}

TEST(ExactRange, SumsOfABadStepCannotBeRead) {
  run_ranks(2, [](Communicator& communicator) {
    ExactAccumulator accumulator({1}, 2);
    accumulator.begin_step();
    accumulator.add(0, std::vector<float>{communicator.rank() == 0 ? kNan : 1.0F});
    EXPECT_TRUE(accumulator.reduce(communicator).bad);
    std::vector<float> out(1);
    EXPECT_THROW(accumulator.read(0, 1.0, out), Error);
  });
}

TEST(ExactRange, DenormalValuesCountToo) {
  const float smallest = std::numeric_limits<float>::denorm_min();
  Tasks tasks;
  for (int i = 0; i < 5; ++i) tasks.push_back({{smallest, 3 * smallest}});
  const std::vector<StepResult> got = run_steps({2}, 5, {{-140}}, {tasks, tasks});
  EXPECT_EQ(got[0].sums[0], (std::vector<float>{5 * smallest, 15 * smallest}));
  EXPECT_EQ(got[0].exponents.exponents[0], -141);
}

TEST(ExactUse, WrongCallsAreFailures) {
  run_ranks(1, [](Communicator& communicator) {
    ExactAccumulator accumulator({2, 0}, 1);
    const std::vector<float> two = {1, 2};
    std::vector<float> out(2);
    const auto expect_failure = [](const auto& call) {
      try {
        call();
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::failure) << error.what();
      }
    };
    expect_failure([&] { accumulator.add(0, two); });
    expect_failure([&] { accumulator.reduce(communicator); });
    expect_failure([&] { accumulator.read(0, 1.0, out); });
    accumulator.begin_step();
    expect_failure([&] { accumulator.add(2, two); });
    expect_failure([&] { accumulator.add(-1, two); });
    expect_failure([&] { accumulator.add(0, std::span(two).first(1)); });
    expect_failure([&] { accumulator.add(1, two); });
    expect_failure([&] { accumulator.read(0, 1.0, out); });
    accumulator.add(0, two);
    accumulator.add(1, {});
    accumulator.reduce(communicator);
    expect_failure([&] { accumulator.reduce(communicator); });
    expect_failure([&] { accumulator.add(0, two); });
    expect_failure([&] { accumulator.read(2, 1.0, out); });
    expect_failure([&] { accumulator.read_range(0, 1, 1.0, out); });
    expect_failure([&] { accumulator.read_range(0, SIZE_MAX, 1.0, out); });
    accumulator.read(0, 1.0, out);
    EXPECT_EQ(out, two);
  });
}

TEST(ExactUse, TaskCountsOutOfRangeAreBadInput) {
  for (const std::int64_t tasks :
       {std::int64_t{0}, std::int64_t{-1}, (std::int64_t{1} << 22) + 1}) {
    try {
      ExactAccumulator({1}, tasks);
      ADD_FAILURE() << tasks;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string(tasks)));
    }
  }
}

TEST(ExactUse, NoTensorsAtAll) {
  run_ranks(2, [](Communicator& communicator) {
    ExactAccumulator accumulator({}, 3);
    accumulator.begin_step();
    EXPECT_FALSE(accumulator.reduce(communicator).bad);
    EXPECT_TRUE(accumulator.exponents().exponents.empty());
  });
}

TEST(ExactUse, BytesCountTheSums) {
  ExactAccumulator accumulator({1000, 500000}, 1);
  const std::size_t before = accumulator.bytes();
  EXPECT_GE(before, 8u * 501000);
  EXPECT_LE(before, 9u * 501000);
  accumulator.set_exponents({{0, 0}});
  accumulator.begin_step();
  accumulator.add(0, std::vector<float>(1000, std::ldexp(1.0F, 30)));
  EXPECT_GE(accumulator.bytes(), before + 8u * 1000);
}

}  // namespace
}  // namespace ddl
