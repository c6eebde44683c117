// Evaluation of a model on a split: each sample once, in tasks of a fixed number of samples that do
// not depend on workers or plan, so that every run prints the same figures.
//
// Threads: one owner; collective.
#pragma once

#include "ddl/artifact/plan.h"
#include "ddl/base/threads.h"
#include "ddl/comm/communicator.h"
#include "ddl/data/batch.h"
#include "ddl/data/dataset.h"
#include "ddl/model/training.h"
#include "ddl/train/metrics.h"
#include "ddl/train/task_executors.h"
#include "ddl/train/weights.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ddl {

inline constexpr std::int64_t kEvaluationSamples = 32;  // of one task

class Evaluator {
 public:
  // `shares`: this world's task ranges of a step of `tasks_per_step`, whose proportions the tasks
  // of an evaluation follow; empty: equal shares.
  Evaluator(Communicator& communicator, const Dataset& dataset, const Graph& model, LossKind loss,
            const ExecutorOptions& options, int lanes, std::vector<TaskRange> shares = {},
            std::int64_t tasks_per_step = 0);

  // Metrics by name ("accuracy"); the split's sample count in samples(). With `predictions`, one
  // CSV row per sample with its header, in sample order, on rank 0.
  std::map<std::string, double> run(const std::string& split, const Weights& weights,
                                    std::string* predictions = nullptr);
  std::int64_t samples() const { return samples_; }

 private:
  TaskRange my_range(std::int64_t tasks) const;
  std::string gather_rows(std::map<std::int64_t, std::string> mine);

  Communicator& communicator_;
  const Dataset& dataset_;
  LossKind loss_;
  std::int64_t columns_;
  int lanes_;
  std::vector<TaskRange> shares_;
  std::int64_t tasks_per_step_;
  TaskExecutors executors_;
  ThreadPool pool_;
  std::int64_t samples_ = 0;
};

// Width of the logits of a model with this loss.
std::int64_t output_columns(const Graph& model);

// bad_input unless the model's output width is what the data set needs: classes, targets or
// vocabulary.
void require_output_width(const Graph& model, const DatasetManifest& manifest);

}  // namespace ddl
