// Quality figures of one split, for any task, each sample counted once, and the same for any number
// of workers: counts are integers, losses are fixed-point sums, AUC ranks gathered scores.
//
//   classification  loss, accuracy, top-5 accuracy (over 5 classes), F1 (2 classes: of the second;
//                   more: mean over classes), AUC (2 classes: score = logit of the second minus
//                   logit of the first; ties count half)
//   next-token      loss per token, perplexity = exp(loss), accuracy
//   regression      loss (sum of squares per row, mean over weights), RMSE over all targets
//   multi-label     loss, accuracy over all labels, AUC when there is one label
// Weighted: loss = sum of weighted losses / sum of weights. A tie for the largest logit goes to the
// lowest class.
//
// Threads: add() is safe from many lanes. reduce() belongs to the owner.
#pragma once

#include "ddl/comm/communicator.h"
#include "ddl/comm/exact.h"
#include "ddl/data/batch.h"
#include "ddl/model/training.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace ddl {

class Metrics {
 public:
  // columns: classes, or targets per row.
  Metrics(LossKind loss, std::int64_t columns);

  // One task's outputs: loss rows (weighted), logits [rows, columns], and what they belong to.
  void add(std::span<const float> loss_rows, std::span<const float> logits, const Batch& batch);

  // Sums over all ranks; collective. Names as in "accuracy", "AUC", "F1", "RMSE".
  std::map<std::string, double> reduce(Communicator& communicator);
  std::int64_t samples() const { return samples_; }  // after reduce: of all ranks

 private:
  struct Score {
    double score = 0;
    std::int64_t sample = 0;
    std::int64_t positive = 0;
  };
  void add_classes(std::span<const float> logits, const Batch& batch, std::size_t rows);
  void add_targets(std::span<const float> logits, const Batch& batch, std::size_t rows);
  double area_under_curve(Communicator& communicator) const;
  double f1() const;

  std::mutex mutex_;
  LossKind loss_kind_;
  std::size_t columns_;
  bool counts_classes_, ranks_scores_;
  FixedSum loss_, weight_, squared_error_;
  std::int64_t samples_ = 0, rows_ = 0, correct_ = 0, correct_top5_ = 0;
  std::vector<std::int64_t> actual_, predicted_, hit_;  // per class
  std::vector<Score> scores_;
};

// Names that reduce() gives for this loss.
std::vector<std::string> metric_names(LossKind loss, std::int64_t columns);

// The usual one to choose the best model by: "accuracy", "loss" for next-token and regression.
std::string usual_metric(LossKind loss);
// Whether larger is better ("loss", "perplexity", "RMSE": smaller).
bool larger_is_better(const std::string& metric);

// Area under the ROC curve from scores of positives and negatives; NaN when one kind is absent.
double area_under_roc(std::vector<std::pair<double, bool>> scores);

}  // namespace ddl
