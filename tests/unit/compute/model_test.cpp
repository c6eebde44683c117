// Forward and backward of every built-in model against the reference: loss rows, logits and
// statistics as they are, gradients by central differences along random directions.
#include "ddl/model/builtin.h"
#include "ddl/model/training.h"

#include <algorithm>
#include <cmath>

#include "unit/compute/problem.h"
#include "unit/compute/training_problem.h"
#include <gtest/gtest.h>

namespace ddl::test {
namespace {

// The nodes that loss, logits and statistics need: what the reference can run.
Graph forward_part(const TrainingGraph& training) {
  Graph graph = training.graph;
  graph.outputs = {training.loss, training.logits};
  for (const auto& statistic : training.statistics) graph.outputs.push_back(statistic.value);
  std::vector<bool> needed(graph.tensor_count(), false);
  for (const TensorId id : graph.outputs) needed[static_cast<std::size_t>(id)] = true;
  std::vector<Node> kept;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(), [&](TensorId id) {
      return id != kNoTensor && needed[static_cast<std::size_t>(id)];
    });
    if (!used) continue;
    for (const TensorId id : node->inputs) {
      if (id != kNoTensor) needed[static_cast<std::size_t>(id)] = true;
    }
    kept.push_back(*node);
  }
  graph.nodes().assign(kept.rbegin(), kept.rend());
  return graph;
}

double total_loss(const Graph& forward, const ReferenceValues& feeds) {
  const auto outputs = reference_run(forward, feeds);
  double total = 0;
  for (const double row : outputs[0]) total += row;
  return total;
}

class Model : public testing::TestWithParam<ModelCase> {};

TEST_P(Model, MatchesReference) {
  TrainingProblem made = make_training_problem(GetParam(), 5);
  const Graph forward = forward_part(made.training);
  const ReferenceValues feeds = made.problem.reference_feeds();
  const auto got = made.problem.execute();
  const auto want = reference_run(forward, feeds);
  EXPECT_LT(relative_error(got[0], want[0]), 1e-4) << "loss rows";
  EXPECT_LT(relative_error(got[1], want[1]), 1e-4) << "logits";
  const std::size_t parameters = made.training.parameters.size();
  for (std::size_t i = 0; i < made.training.statistics.size(); ++i) {
    EXPECT_LT(relative_error(got[2 + parameters + i], want[2 + i]), 1e-4) << "statistic " << i;
  }

  // All parameters at once in random directions, then each parameter in one.
  Random& random = made.problem.random;
  const auto check = [&](const std::vector<std::size_t>& which) {
    const double step = 1e-6;
    ReferenceValues above = feeds, below = feeds;
    double along = 0, norm = 0;
    for (const std::size_t k : which) {
      const TensorId id = made.training.parameters[k];
      for (std::size_t i = 0; i < got[2 + k].size(); ++i) {
        const double d = random.normal();
        above[id][i] += step * d;
        below[id][i] -= step * d;
        along += d * got[2 + k][i];
        norm += static_cast<double>(got[2 + k][i]) * got[2 + k][i];
      }
    }
    const double difference =
        (total_loss(forward, above) - total_loss(forward, below)) / (2 * step);
    EXPECT_NEAR(along, difference, 5e-4 * std::sqrt(norm) + 2e-4)
        << forward.tensor(made.training.parameters[which[0]]).name << " and " << which.size() - 1
        << " more";
  };
  std::vector<std::size_t> every;
  for (std::size_t k = 0; k < parameters; ++k) every.push_back(k);
  for (int direction = 0; direction < 3; ++direction) check(every);
  for (std::size_t k = 0; k < parameters; ++k) check({k});
}

INSTANTIATE_TEST_SUITE_P(Builtin, Model, testing::ValuesIn(model_cases()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace ddl::test
