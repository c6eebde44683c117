#include "ddl/train/metrics.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace ddl {

Metrics::Metrics(LossKind loss, std::int64_t columns)
    : loss_kind_(loss), columns_(static_cast<std::size_t>(columns)) {
  counts_classes_ = loss == LossKind::softmax_cross_entropy || loss == LossKind::next_token;
  ranks_scores_ = (loss == LossKind::softmax_cross_entropy && columns == 2) ||
                  (loss == LossKind::sigmoid_cross_entropy && columns == 1);
  if (counts_classes_) {
    actual_.resize(columns_);
    predicted_.resize(columns_);
    hit_.resize(columns_);
  }
}

void Metrics::add(std::span<const float> loss_rows, std::span<const float> logits,
                  const Batch& batch) {
  const std::size_t rows = batch.weights.size();
  if (loss_rows.size() != rows || logits.size() != rows * columns_)
    throw failure("an evaluation gave " + std::to_string(loss_rows.size()) + " losses and " +
                  std::to_string(logits.size()) + " logits for " + std::to_string(rows) + " rows");
  const std::lock_guard lock(mutex_);
  for (const float value : loss_rows) loss_.add(static_cast<double>(value));
  for (const float value : batch.weights) weight_.add(static_cast<double>(value));
  samples_ += static_cast<std::int64_t>(batch.sample_ids.size());
  rows_ += static_cast<std::int64_t>(rows);
  if (counts_classes_) {
    add_classes(logits, batch, rows);
  } else {
    add_targets(logits, batch, rows);
  }
}

void Metrics::add_classes(std::span<const float> logits, const Batch& batch, std::size_t rows) {
  for (std::size_t row = 0; row < rows; ++row) {
    const float* values = logits.data() + row * columns_;
    std::int64_t label = 0;
    std::memcpy(&label, batch.labels.data() + row * sizeof(label), sizeof(label));
    if (label < 0 || static_cast<std::size_t>(label) >= columns_)
      throw failure("label " + std::to_string(label) + " is out of range");
    const auto truth = static_cast<std::size_t>(label);
    const auto best =
        static_cast<std::size_t>(std::max_element(values, values + columns_) - values);
    // Rank of the true class: those that beat it, ties to the lower index.
    std::size_t ahead = 0;
    for (std::size_t k = 0; k < columns_; ++k)
      if (values[k] > values[truth] || (values[k] == values[truth] && k < truth)) ++ahead;
    correct_ += best == truth ? 1 : 0;
    correct_top5_ += ahead < 5 ? 1 : 0;
    ++actual_[truth];
    ++predicted_[best];
    hit_[truth] += best == truth ? 1 : 0;
    if (ranks_scores_)
      scores_.push_back({static_cast<double>(values[1]) - static_cast<double>(values[0]),
                         batch.sample_ids[row], label});
  }
}

void Metrics::add_targets(std::span<const float> logits, const Batch& batch, std::size_t rows) {
  for (std::size_t i = 0; i < rows * columns_; ++i) {
    float target = 0;
    std::memcpy(&target, batch.labels.data() + i * sizeof(target), sizeof(target));
    if (loss_kind_ == LossKind::squared_error) {
      const double error = static_cast<double>(logits[i]) - static_cast<double>(target);
      squared_error_.add(error * error);
    } else {
      const bool positive = target > 0.5F;
      correct_ += (logits[i] > 0) == positive ? 1 : 0;
      if (ranks_scores_)
        scores_.push_back({static_cast<double>(logits[i]), batch.sample_ids[i], positive ? 1 : 0});
    }
  }
}

std::map<std::string, double> Metrics::reduce(Communicator& communicator) {
  std::vector<std::int64_t> words = {loss_.word(),
                                     loss_.bad() ? 1 : 0,
                                     weight_.word(),
                                     weight_.bad() ? 1 : 0,
                                     squared_error_.word(),
                                     squared_error_.bad() ? 1 : 0,
                                     samples_,
                                     rows_,
                                     correct_,
                                     correct_top5_};
  const std::size_t fixed = words.size();
  for (const auto* counts : {&actual_, &predicted_, &hit_})
    words.insert(words.end(), counts->begin(), counts->end());
  communicator.all_reduce(std::span<std::int64_t>(words), ReduceOp::sum);
  loss_ = FixedSum::from_word(words[0], words[1] != 0);
  weight_ = FixedSum::from_word(words[2], words[3] != 0);
  squared_error_ = FixedSum::from_word(words[4], words[5] != 0);
  samples_ = words[6];
  rows_ = words[7];
  correct_ = words[8];
  correct_top5_ = words[9];
  auto next = words.begin() + static_cast<std::ptrdiff_t>(fixed);
  for (auto* counts : {&actual_, &predicted_, &hit_}) {
    std::copy(next, next + static_cast<std::ptrdiff_t>(counts->size()), counts->begin());
    next += static_cast<std::ptrdiff_t>(counts->size());
  }

  constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
  std::map<std::string, double> out;
  const double loss = loss_.bad() || weight_.bad() || weight_.value() <= 0
                          ? kNotANumber
                          : loss_.value() / weight_.value();
  const auto part = [](std::int64_t count, std::int64_t of) {
    return of == 0 ? kNotANumber : static_cast<double>(count) / static_cast<double>(of);
  };
  out["loss"] = loss;
  if (counts_classes_) {
    out["accuracy"] = part(correct_, rows_);
    if (loss_kind_ == LossKind::next_token) {
      out["perplexity"] = std::exp(loss);
    } else {
      if (columns_ > 5) out["top-5 accuracy"] = part(correct_top5_, rows_);
      out["F1"] = f1();
    }
  } else if (loss_kind_ == LossKind::squared_error) {
    out["RMSE"] = squared_error_.bad() || rows_ == 0
                      ? kNotANumber
                      : std::sqrt(squared_error_.value() /
                                  static_cast<double>(rows_ * static_cast<std::int64_t>(columns_)));
  } else {
    out["accuracy"] = part(correct_, rows_ * static_cast<std::int64_t>(columns_));
  }
  if (ranks_scores_) out["AUC"] = area_under_curve(communicator);
  return out;
}

double Metrics::f1() const {
  const auto of_class = [&](std::size_t k) {
    const std::int64_t sum = actual_[k] + predicted_[k];
    return sum == 0 ? 0.0 : 2.0 * static_cast<double>(hit_[k]) / static_cast<double>(sum);
  };
  if (columns_ == 2) return of_class(1);
  double total = 0;
  int present = 0;
  for (std::size_t k = 0; k < columns_; ++k) {
    if (actual_[k] + predicted_[k] == 0) continue;  // neither seen nor predicted: says nothing
    total += of_class(k);
    ++present;
  }
  return present == 0 ? 0.0 : total / present;
}

double Metrics::area_under_curve(Communicator& communicator) const {
  const std::int64_t mine = static_cast<std::int64_t>(scores_.size() * sizeof(Score));
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(communicator.size()), 0);
  sizes[static_cast<std::size_t>(communicator.rank())] = mine;
  communicator.all_reduce(std::span<std::int64_t>(sizes), ReduceOp::sum);
  std::vector<std::size_t> counts(sizes.begin(), sizes.end());
  std::size_t total = 0;
  for (const std::size_t count : counts) total += count;
  std::vector<Score> all(total / sizeof(Score));
  communicator.all_gather(std::as_bytes(std::span(scores_)), std::as_writable_bytes(std::span(all)),
                          counts);
  std::vector<std::pair<double, bool>> scores;
  scores.reserve(all.size());
  for (const Score& score : all) scores.emplace_back(score.score, score.positive != 0);
  return area_under_roc(std::move(scores));
}

double area_under_roc(std::vector<std::pair<double, bool>> scores) {
  constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
  for (const auto& score : scores)
    if (std::isnan(score.first)) return kNotANumber;
  std::sort(scores.begin(), scores.end());
  // Twice the number of (positive, negative) pairs in the right order, ties counted once: whole
  // numbers, so that the figure does not depend on the order of adding.
  std::int64_t positives = 0, negatives = 0, twice_ordered = 0;
  for (std::size_t i = 0; i < scores.size();) {
    std::int64_t tied_positives = 0, tied_negatives = 0;
    const double value = scores[i].first;
    for (; i < scores.size() && scores[i].first == value; ++i)
      (scores[i].second ? tied_positives : tied_negatives) += 1;
    twice_ordered += tied_positives * (2 * negatives + tied_negatives);
    positives += tied_positives;
    negatives += tied_negatives;
  }
  if (positives == 0 || negatives == 0) return kNotANumber;
  return static_cast<double>(twice_ordered) /
         (2.0 * static_cast<double>(positives) * static_cast<double>(negatives));
}

std::vector<std::string> metric_names(LossKind loss, std::int64_t columns) {
  switch (loss) {
    case LossKind::next_token:
      return {"loss", "accuracy", "perplexity"};
    case LossKind::squared_error:
      return {"loss", "RMSE"};
    case LossKind::sigmoid_cross_entropy:
      return columns == 1 ? std::vector<std::string>{"loss", "accuracy", "AUC"}
                          : std::vector<std::string>{"loss", "accuracy"};
    case LossKind::softmax_cross_entropy:
      break;
  }
  std::vector<std::string> names = {"loss", "accuracy", "F1"};
  if (columns > 5) names.emplace_back("top-5 accuracy");
  if (columns == 2) names.emplace_back("AUC");
  return names;
}

std::string usual_metric(LossKind loss) {
  return loss == LossKind::softmax_cross_entropy || loss == LossKind::sigmoid_cross_entropy
             ? "accuracy"
             : "loss";
}

bool larger_is_better(const std::string& metric) {
  return metric != "loss" && metric != "perplexity" && metric != "RMSE";
}

}  // namespace ddl
