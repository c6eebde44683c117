// Every gradient op, as the executor runs it, against central differences in double of the
// reference's forward pass, along random directions of every operand.
#include "ddl/model/autodiff.h"

#include <cctype>
#include <cmath>

#include "unit/compute/problem.h"
#include <gtest/gtest.h>

namespace ddl::test {
namespace {

double weighted_output(const Graph& forward, const ReferenceValues& feeds,
                       const std::vector<double>& weights) {
  const auto outputs = reference_run(forward, feeds);
  double total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) total += weights[i] * outputs[0][i];
  return total;
}

// Compares the gradient of sum(weights * output) with respect to `target` along random directions.
void expect_slope(const Graph& forward, const ReferenceValues& feeds,
                  const std::vector<double>& weights, TensorId target,
                  const std::vector<float>& gradient, Random& random) {
  double norm = 0;
  for (const float value : gradient) norm += static_cast<double>(value) * value;
  norm = std::sqrt(norm);
  ASSERT_TRUE(std::isfinite(norm));
  for (int direction = 0; direction < 6; ++direction) {
    const double step = 1e-6;
    ReferenceValues above = feeds, below = feeds;
    double along = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double d = random.normal();
      above[target][i] += step * d;
      below[target][i] -= step * d;
      along += d * gradient[i];
    }
    const double difference =
        (weighted_output(forward, above, weights) - weighted_output(forward, below, weights)) /
        (2 * step);
    EXPECT_NEAR(along, difference, 2e-4 * norm + 1e-4)
        << "with respect to '" << forward.tensor(target).name << "'";
  }
}

class Gradient : public testing::TestWithParam<OpCase> {};

TEST_P(Gradient, MatchesFiniteDifferences) {
  if (!GetParam().differentiable) return;  // no gradient flows: nothing to compare
  Problem problem(3);
  const TensorId output = GetParam().build(problem);
  Graph forward = problem.graph;
  forward.outputs = {output};
  const ReferenceValues feeds = problem.reference_feeds();

  std::vector<TensorId> targets;
  for (const auto& [id, value] : problem.values) {
    if (value->dtype == DType::f32 && forward.tensor(id).role != TensorRole::buffer) {
      targets.push_back(id);
    }
  }
  const TensorId seed = problem.input(forward.tensor(output).shape);
  const std::vector<TensorId> gradients = differentiate(problem.graph, output, seed, targets);
  problem.graph.outputs = gradients;
  for (const TensorId gradient : gradients) ASSERT_NE(gradient, kNoTensor);
  const auto got = problem.execute();

  const std::vector<double> weights = to_doubles(*problem.values.at(seed));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    expect_slope(forward, feeds, weights, targets[i], got[i], problem.random);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Gradient, testing::ValuesIn(op_cases()), [](const auto& parameter) {
  std::string name;
  for (const char c : parameter.param.name) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
});

}  // namespace
}  // namespace ddl::test
