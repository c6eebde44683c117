#include "ddl/base/error.h"
#include "ddl/comm/exact.h"
#include "ddl/comm/thread_communicator.h"

#include <cmath>
#include <limits>
#include <thread>

#include "unit/comm/reference_sums.h"
#include <gtest/gtest.h>

namespace ddl {
namespace {

using namespace test;

TEST(FastAccumulator, SumsWithinFloatRounding) {
  const std::vector<std::size_t> sizes = {3, 0, 150000};
  constexpr std::size_t kTasks = 9;
  Random random(1, "fast");
  const Tasks tasks = random_tasks(kTasks, sizes, -10, 3, random);
  for (std::size_t ranks = 1; ranks <= 4; ++ranks) {
    const Deal deal = deal_tasks(kTasks, ranks, 2, random);
    run_ranks(static_cast<int>(ranks), [&](Communicator& communicator) {
      FastAccumulator accumulator(sizes);
      for (int step = 0; step < 2; ++step) {  // the second finds the first one's sums
        accumulator.begin_step();
        std::vector<std::thread> lanes;
        for (const auto& mine : deal[static_cast<std::size_t>(communicator.rank())]) {
          lanes.emplace_back([&] {
            for (const std::size_t task : mine)
              for (std::size_t t = 0; t < sizes.size(); ++t)
                accumulator.add(static_cast<int>(t), tasks[task][t]);
          });
        }
        for (std::thread& lane : lanes) lane.join();
        EXPECT_FALSE(accumulator.reduce(communicator).bad);
      }
      for (std::size_t t = 0; t < sizes.size(); ++t) {
        std::vector<float> sums(sizes[t]);
        accumulator.read_range(static_cast<int>(t), 0, 0.5, sums);
        for (std::size_t i = 0; i < sums.size(); ++i) {
          double sum = 0, magnitude = 0;
          for (const Tensors& task : tasks) {
            sum += static_cast<double>(task[t][i]);
            magnitude += std::fabs(static_cast<double>(task[t][i]));
          }
          ASSERT_NEAR(static_cast<double>(sums[i]), 0.5 * sum, kTasks * magnitude * 0x1p-24);
        }
      }
    });
  }
}

TEST(FastAccumulator, SumsThatAreNotFiniteAreBadOnAllRanks) {
  const float largest = std::numeric_limits<float>::max();
  run_ranks(2, [&](Communicator& communicator) {
    FastAccumulator accumulator({2, 2, 2});
    accumulator.begin_step();
    accumulator.add(0, std::vector<float>{1, 2});
    // Each rank's part is finite, their sum is not.
    accumulator.add(1, std::vector<float>{0, largest});
    if (communicator.rank() == 1)
      accumulator.add(2, std::vector<float>{std::numeric_limits<float>::quiet_NaN(), 0});
    const ExactStep step = accumulator.reduce(communicator);
    EXPECT_TRUE(step.bad);
    EXPECT_EQ(step.bad_tensor, 1);
    accumulator.begin_step();
    accumulator.add(1, std::vector<float>{0, 1});
    EXPECT_FALSE(accumulator.reduce(communicator).bad);
    std::vector<float> out(1);
    accumulator.read_range(1, 1, 1.0, out);
    EXPECT_EQ(out[0], 2.0F);
    accumulator.read_range(0, 0, 1.0, out);
    EXPECT_EQ(out[0], 0.0F);
  });
}

TEST(FastAccumulator, WrongSizesAreFailures) {
  FastAccumulator accumulator({2});
  accumulator.begin_step();
  std::vector<float> three(3);
  EXPECT_THROW(accumulator.add(0, three), Error);
  EXPECT_THROW(accumulator.add(1, three), Error);
  EXPECT_THROW(accumulator.read_range(0, 0, 1.0, three), Error);
  EXPECT_THROW(accumulator.read_range(0, 2, 1.0, std::span(three).first(1)), Error);
}

}  // namespace
}  // namespace ddl
