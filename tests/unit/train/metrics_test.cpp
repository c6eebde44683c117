#include "ddl/train/metrics.h"

#include "ddl/base/random.h"
#include "ddl/comm/thread_communicator.h"

#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

#include <gtest/gtest.h>

namespace ddl {
namespace {

Batch class_batch(const std::vector<std::int64_t>& labels, std::int64_t first_id,
                  std::vector<float> weights = {}) {
  Batch batch;
  batch.labels.resize(labels.size() * sizeof(std::int64_t));
  std::memcpy(batch.labels.data(), labels.data(), batch.labels.size());
  batch.weights = weights.empty() ? std::vector<float>(labels.size(), 1.0F) : std::move(weights);
  batch.sample_ids.resize(labels.size());
  std::iota(batch.sample_ids.begin(), batch.sample_ids.end(), first_id);
  return batch;
}

TEST(AreaUnderRoc, CountsPairsWithTiesAsHalf) {
  EXPECT_EQ(area_under_roc({{0.1, false}, {0.4, true}, {0.35, false}, {0.8, true}}), 1.0);
  EXPECT_EQ(area_under_roc({{0.1, true}, {0.4, false}}), 0.0);
  EXPECT_EQ(area_under_roc({{1, true}, {1, false}, {1, false}}), 0.5);
  EXPECT_EQ(area_under_roc({{1, true}, {2, false}, {2, true}, {3, true}}), 0.5);
  EXPECT_TRUE(std::isnan(area_under_roc({{1, true}})));
  EXPECT_TRUE(std::isnan(area_under_roc({{std::nan(""), true}, {1, false}})));
}

TEST(AreaUnderRoc, AgreesWithAllPairs) {
  Random random(2, "roc");
  for (int round = 0; round < 20; ++round) {
    std::vector<std::pair<double, bool>> scores;
    for (int i = 0; i < 40; ++i)
      scores.emplace_back(static_cast<double>(random.below(15)), random.below(3) == 0);
    double ordered = 0, pairs = 0;
    for (const auto& a : scores)
      for (const auto& b : scores)
        if (a.second && !b.second) {
          ordered += a.first > b.first ? 1 : a.first == b.first ? 0.5 : 0;
          ++pairs;
        }
    if (pairs > 0) {
      EXPECT_DOUBLE_EQ(area_under_roc(scores), ordered / pairs);
    }
  }
}

// The whole in one rank, and cut over three of which one has nothing: the same figures to the bit.
TEST(Metrics, DoNotDependOnWhoCounts) {
  Random random(4, "metrics");
  constexpr std::size_t kSamples = 23, kClasses = 2;
  std::vector<float> logits(kSamples * kClasses), losses(kSamples);
  std::vector<std::int64_t> labels(kSamples);
  for (float& value : logits) value = static_cast<float>(random.normal());
  for (float& value : losses) value = static_cast<float>(random.uniform());
  for (auto& label : labels) label = static_cast<std::int64_t>(random.below(kClasses));
  const auto add = [&](Metrics& metrics, std::size_t first, std::size_t count) {
    metrics.add(std::span(losses).subspan(first, count),
                std::span(logits).subspan(first * kClasses, count * kClasses),
                class_batch({labels.begin() + static_cast<std::ptrdiff_t>(first),
                             labels.begin() + static_cast<std::ptrdiff_t>(first + count)},
                            static_cast<std::int64_t>(first)));
  };
  std::map<std::string, double> one;
  run_ranks(1, [&](Communicator& communicator) {
    Metrics metrics(LossKind::softmax_cross_entropy, kClasses);
    add(metrics, 0, kSamples);
    one = metrics.reduce(communicator);
  });
  ASSERT_EQ(one.size(), metric_names(LossKind::softmax_cross_entropy, kClasses).size());
  std::int64_t correct = 0, hit = 0, positive = 0;
  for (std::size_t i = 0; i < kSamples; ++i) {
    const bool predicted = logits[2 * i + 1] > logits[2 * i];
    correct += predicted == (labels[i] == 1) ? 1 : 0;
    hit += predicted && labels[i] == 1 ? 1 : 0;
    positive += (predicted ? 1 : 0) + labels[i];
  }
  EXPECT_DOUBLE_EQ(one.at("accuracy"), static_cast<double>(correct) / kSamples);
  EXPECT_DOUBLE_EQ(one.at("F1"), 2.0 * static_cast<double>(hit) / static_cast<double>(positive));
  EXPECT_NEAR(one.at("loss"), std::accumulate(losses.begin(), losses.end(), 0.0) / kSamples, 1e-9);

  std::mutex mutex;
  run_ranks(3, [&](Communicator& communicator) {
    Metrics metrics(LossKind::softmax_cross_entropy, kClasses);
    if (communicator.rank() == 0) add(metrics, 5, 18);
    if (communicator.rank() == 2) {
      add(metrics, 0, 2);
      add(metrics, 2, 3);
    }
    const auto mine = metrics.reduce(communicator);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(mine, one);
    EXPECT_EQ(metrics.samples(), 23);
  });
}

TEST(Metrics, TopFiveAndMacroF1) {
  run_ranks(1, [](Communicator& communicator) {
    Metrics metrics(LossKind::softmax_cross_entropy, 7);
    // Sample 0: class 0 is sixth; sample 1: class 6 wins; sample 2: class 2 ties for the top
    // with 1.
    const std::vector<float> logits = {1, 2, 3, 4, 5, 6, 0,  //
                                       0, 0, 0, 0, 0, 0, 9,  //
                                       0, 5, 5, 0, 0, 0, 0};
    metrics.add(std::vector<float>{1, 1, 1}, logits, class_batch({0, 6, 2}, 0));
    const auto out = metrics.reduce(communicator);
    EXPECT_DOUBLE_EQ(out.at("accuracy"), 1.0 / 3);
    EXPECT_DOUBLE_EQ(out.at("top-5 accuracy"), 2.0 / 3);
    // Present: classes 0, 6, 2 (true) and 5, 1 (predicted); only class 6 scores.
    EXPECT_DOUBLE_EQ(out.at("F1"), 1.0 / 5);
  });
}

TEST(Metrics, LossIsWeighted) {
  run_ranks(1, [](Communicator& communicator) {
    Metrics metrics(LossKind::softmax_cross_entropy, 3);
    metrics.add(std::vector<float>{2, 9}, std::vector<float>{1, 0, 0, 1, 0, 0},
                class_batch({0, 1}, 0, {1, 3}));  // the losses are weighted already
    EXPECT_DOUBLE_EQ(metrics.reduce(communicator).at("loss"), 11.0 / 4);
  });
}

TEST(Metrics, RegressionAndPerplexity) {
  run_ranks(1, [](Communicator& communicator) {
    Batch batch;
    const std::vector<float> targets = {1, 2, 3, 4};
    batch.labels.resize(16);
    std::memcpy(batch.labels.data(), targets.data(), 16);
    batch.weights = {1, 1};
    batch.sample_ids = {0, 1};
    Metrics regression(LossKind::squared_error, 2);
    regression.add(std::vector<float>{5, 0}, std::vector<float>{2, 4, 3, 4}, batch);
    const auto out = regression.reduce(communicator);
    EXPECT_DOUBLE_EQ(out.at("RMSE"), std::sqrt(5.0 / 4));
    EXPECT_DOUBLE_EQ(out.at("loss"), 2.5);

    Metrics text(LossKind::next_token, 3);
    Batch tokens = class_batch({0, 1, 2, 2}, 0);
    tokens.sample_ids = {0, 1};  // two tokens each
    text.add(std::vector<float>{1, 2, 1, 2}, std::vector<float>{5, 0, 0, 5, 0, 0, 0, 0, 5, 0, 0, 5},
             tokens);
    const auto figures = text.reduce(communicator);
    EXPECT_DOUBLE_EQ(figures.at("perplexity"), std::exp(1.5));
    EXPECT_DOUBLE_EQ(figures.at("accuracy"), 0.75);
    EXPECT_EQ(text.samples(), 2);
  });
}

TEST(Metrics, NotANumberIsNotHidden) {
  run_ranks(1, [](Communicator& communicator) {
    Metrics metrics(LossKind::softmax_cross_entropy, 2);
    metrics.add(std::vector<float>{NAN, 1}, std::vector<float>{NAN, NAN, 1, 0},
                class_batch({0, 0}, 0));
    EXPECT_TRUE(std::isnan(metrics.reduce(communicator).at("loss")));
  });
}

}  // namespace
}  // namespace ddl
