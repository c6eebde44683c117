// The same bits from any lane, any thread, any place in memory, at any time.
#include <cstring>
#include <thread>

#include "unit/compute/training_problem.h"
#include <gtest/gtest.h>

namespace ddl::test {
namespace {

using Outputs = std::vector<std::vector<float>>;

bool same_bits(const Outputs& a, const Outputs& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    if (!a[i].empty() && std::memcmp(a[i].data(), b[i].data(), a[i].size() * sizeof(float)) != 0) {
      return false;
    }
  }
  return true;
}

Outputs run(const Executor& executor, Lane& lane, const std::vector<TensorBinding>& inputs,
            std::size_t outputs, const TaskKey& key = {}) {
  Outputs got(outputs);
  executor.run(lane, inputs, key, [&](std::size_t output, std::span<const float> values) {
    got[output].assign(values.begin(), values.end());
  });
  return got;
}

class Determinism : public testing::TestWithParam<ModelCase> {};

TEST_P(Determinism, LanesThreadsAndRepetition) {
  const TrainingProblem made = make_training_problem(GetParam(), 1);
  // Another task of the same model, to run between.
  const TrainingProblem other = make_training_problem(GetParam(), 2);
  const std::size_t outputs = made.problem.graph.outputs.size();
  const auto executor = made.problem.executor();
  const auto lane = executor->make_lane();
  const auto inputs = made.problem.input_bindings(), others = other.problem.input_bindings();
  const Outputs first = run(*executor, *lane, inputs, outputs);
  const Outputs second = run(*executor, *lane, others, outputs);
  ASSERT_FALSE(same_bits(first, second));
  EXPECT_TRUE(same_bits(first, run(*executor, *lane, inputs, outputs)));

  constexpr int kLanes = 4, kRounds = 3;
  std::vector<int> differing(kLanes, 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < kLanes; ++i) {
    threads.emplace_back([&, i] {
      const auto own = executor->make_lane();
      for (int round = 0; round < kRounds; ++round) {
        const bool takes_first = (i + round) % 2 == 0;
        const Outputs got = run(*executor, *own, takes_first ? inputs : others, outputs);
        if (!same_bits(got, takes_first ? first : second)) ++differing[static_cast<std::size_t>(i)];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differing, std::vector<int>(kLanes, 0));
}

TEST_P(Determinism, ExecutorsAndAddresses) {
  const TrainingProblem made = make_training_problem(GetParam(), 1);
  const std::size_t outputs = made.problem.graph.outputs.size();
  const auto executor = made.problem.executor();
  const Outputs expected = made.problem.execute(*executor, *executor->make_lane());
  const auto fresh = made.problem.executor();
  const auto lane = fresh->make_lane();
  for (const std::size_t shift : {8U, 24U}) {
    std::vector<TensorBinding> moved = made.problem.input_bindings();
    std::vector<std::vector<std::byte>> copies;
    for (TensorBinding& binding : moved) {
      const auto& bytes = made.problem.values.at(binding.tensor)->bytes;
      auto& copy = copies.emplace_back(bytes.size() + 64);
      std::memcpy(copy.data() + shift, bytes.data(), bytes.size());
      binding.data = copy.data() + shift;
    }
    EXPECT_TRUE(same_bits(expected, run(*fresh, *lane, moved, outputs))) << shift;
  }
}

TEST_P(Determinism, TwoThreadsInARun) {
  const TrainingProblem made = make_training_problem(GetParam(), 1);
  ExecutorOptions options;
  options.threads = 2;
  const auto executor = made.problem.executor(options);
  const auto lane = executor->make_lane(), again = executor->make_lane();
  const Outputs expected = made.problem.execute(*executor, *lane);
  EXPECT_TRUE(same_bits(expected, made.problem.execute(*executor, *lane)));
  EXPECT_TRUE(same_bits(expected, made.problem.execute(*executor, *again)));
}

INSTANTIATE_TEST_SUITE_P(Builtin, Determinism, testing::ValuesIn(model_cases()),
                         [](const auto& parameter) { return parameter.param.name; });

// Dropout over two samples of three tokens each.
class Dropout : public testing::Test {
 protected:
  Dropout() {
    x_ = problem_.input({6, 40}, 1, 2);
    const auto dropped = problem_.graph.add_node("Dropout", {x_}, {{"ratio", 0.25}}, 2, "drop");
    const TensorId back = problem_.graph.add("DropoutGrad", {x_, dropped[1]}, {{"ratio", 0.25}});
    problem_.graph.outputs = {dropped[0], back};
    executor_ = problem_.executor();
    lane_ = executor_->make_lane();
  }
  Outputs run_with(std::uint64_t seed, std::uint64_t step, std::vector<std::int64_t> samples) {
    return problem_.execute(*executor_, *lane_, {seed, step, samples});
  }
  // Which elements of a sample were kept.
  static std::vector<bool> kept(const Outputs& outputs, std::size_t sample) {
    std::vector<bool> result;
    for (std::size_t i = 0; i < 120; ++i) result.push_back(outputs[0][sample * 120 + i] != 0);
    return result;
  }
  Problem problem_;
  TensorId x_ = kNoTensor;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Lane> lane_;
};

TEST_F(Dropout, ScalesWhatItKeeps) {
  const Outputs got = run_with(1, 2, {10, 11});
  const float* x = problem_.values.at(x_)->as<float>();
  std::size_t count = 0;
  for (std::size_t i = 0; i < 240; ++i) {
    if (got[0][i] != 0) {
      EXPECT_FLOAT_EQ(got[0][i], x[i] / 0.75F);
      ++count;
    }
  }
  EXPECT_GT(count, 150U);
  EXPECT_LT(count, 210U);
  EXPECT_EQ(got[0], got[1]);  // the gradient goes where the value went
}

TEST_F(Dropout, IsKeyedBySeedStepAndSample) {
  const Outputs got = run_with(1, 2, {10, 11});
  EXPECT_EQ(got, run_with(1, 2, {10, 11}));
  EXPECT_NE(kept(got, 0), kept(got, 1));
  EXPECT_NE(kept(got, 0), kept(run_with(2, 2, {10, 11}), 0));
  EXPECT_NE(kept(got, 0), kept(run_with(1, 3, {10, 11}), 0));
  // The sample decides, not its place in the task.
  const Outputs swapped = run_with(1, 2, {11, 10});
  EXPECT_EQ(kept(got, 0), kept(swapped, 1));
  EXPECT_EQ(kept(got, 1), kept(swapped, 0));
}

TEST_F(Dropout, IsKeyedByTheOp) {
  Problem problem;
  const TensorId x = problem.input({2, 100}, 1, 2);
  problem.graph.outputs = {problem.graph.add("Dropout", {x}, {}, "one"),
                           problem.graph.add("Dropout", {x}, {}, "two")};
  const auto executor = problem.executor();
  const std::vector<std::int64_t> samples{1, 2};
  const Outputs got = problem.execute(*executor, *executor->make_lane(), {1, 2, samples});
  EXPECT_NE(got[0], got[1]);
}

}  // namespace
}  // namespace ddl::test
