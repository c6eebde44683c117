#include "ddl/train/evaluation.h"

#include "ddl/base/error.h"
#include "ddl/train/batch_stream.h"
#include "ddl/train/predictions.h"
#include "ddl/train/task_ranges.h"

#include <algorithm>
#include <mutex>
#include <set>

namespace ddl {
namespace {

std::vector<TaskSpec> evaluation_tasks(std::int64_t samples, const TaskRange& range) {
  std::vector<TaskSpec> out;
  for (std::int64_t t = range.first; t < range.first + range.count; ++t) {
    TaskSpec spec;
    spec.number = t;
    const std::int64_t end = std::min(samples, (t + 1) * kEvaluationSamples);
    for (std::int64_t id = t * kEvaluationSamples; id < end; ++id) spec.sample_ids.push_back(id);
    out.push_back(std::move(spec));
  }
  return out;
}

}  // namespace

std::int64_t output_columns(const Graph& model) {
  if (model.outputs.empty()) throw bad_input("the model has no output");
  const Tensor& logits = model.tensor(model.outputs.front());
  if (logits.shape.empty()) throw bad_input("the model's output '" + logits.name + "' is a scalar");
  return logits.shape.back();
}

void require_output_width(const Graph& model, const DatasetManifest& manifest) {
  const std::int64_t width = output_columns(model);
  std::int64_t wanted = 0;
  std::string what;
  if (manifest.task == LearningTask::classification) {
    wanted = static_cast<std::int64_t>(manifest.classes.size());
    what = " classes";
  } else if (manifest.task == LearningTask::next_token) {
    wanted = manifest.tokenizer.vocabulary.empty()
                 ? 256
                 : static_cast<std::int64_t>(manifest.tokenizer.vocabulary.size());
    what = " tokens in its vocabulary";
  } else if (const Field* target = manifest.find_field(FieldKind::target)) {
    wanted = element_count(target->shape);
    what = wanted == 1 ? " target" : " targets";
  }
  if (width != wanted)
    throw bad_input("the model has " + std::to_string(width) + " outputs, the data set has " +
                        std::to_string(wanted) + what,
                    "use a model made for this data set (ddl-model write --dataset)");
}

Evaluator::Evaluator(Communicator& communicator, const Dataset& dataset, const Graph& model,
                     LossKind loss, const ExecutorOptions& options, int lanes,
                     std::vector<TaskRange> shares, std::int64_t tasks_per_step)
    : communicator_(communicator),
      dataset_(dataset),
      loss_(loss),
      columns_(output_columns(model)),
      lanes_(lanes),
      shares_(std::move(shares)),
      tasks_per_step_(tasks_per_step),
      executors_(
          [model, loss](std::int64_t samples) {
            return make_evaluation_graph(model.with_batch(samples), loss);
          },
          BatchReader(dataset, dataset.manifest().splits.at(0).name).inputs(), options, lanes),
      pool_(lanes) {
  if (shares_.empty()) {
    tasks_per_step_ = communicator.size();
    for (int rank = 0; rank < communicator.size(); ++rank) shares_.push_back({rank, 1});
  }
}

TaskRange Evaluator::my_range(std::int64_t tasks) const {
  return scaled_range(shares_.at(static_cast<std::size_t>(communicator_.rank())), tasks_per_step_,
                      tasks);
}

std::map<std::string, double> Evaluator::run(const std::string& split, const Weights& weights,
                                             std::string* predictions) {
  const BatchReader reader(dataset_, split);
  const std::int64_t samples = dataset_.manifest().samples(split);
  const std::int64_t tasks = (samples + kEvaluationSamples - 1) / kEvaluationSamples;
  std::vector<TaskSpec> mine = evaluation_tasks(samples, my_range(tasks));
  std::set<std::int64_t> sizes;
  for (const TaskSpec& spec : mine) sizes.insert(static_cast<std::int64_t>(spec.sample_ids.size()));
  for (const std::int64_t size : sizes) executors_.prepared(size, weights);

  Metrics metrics(loss_, columns_);
  std::map<std::int64_t, std::string> rows;
  std::mutex rows_mutex;
  BatchStream stream(reader, 2 * lanes_);
  stream.announce(0, std::move(mine));
  pool_.parallel_for(static_cast<std::size_t>(lanes_), [&](std::size_t lane) {
    double input_seconds = 0;
    std::vector<float> losses, logits;
    while (std::unique_ptr<LoadedTask> loaded = stream.take(0, input_seconds)) {
      executors_.run(loaded->batch, static_cast<int>(lane), TaskKey{},
                     [&](std::size_t output, std::span<const float> values) {
                       (output == 0 ? losses : logits).assign(values.begin(), values.end());
                     });
      metrics.add(losses, logits, loaded->batch);
      if (predictions != nullptr) {
        const std::lock_guard lock(rows_mutex);
        add_predictions(loss_, dataset_.manifest(), loaded->batch, losses, logits, rows);
      }
      stream.recycle(std::move(loaded));
    }
  });
  std::map<std::string, double> out = metrics.reduce(communicator_);
  samples_ = metrics.samples();
  if (predictions != nullptr) *predictions = gather_rows(std::move(rows));
  return out;
}

std::string Evaluator::gather_rows(std::map<std::int64_t, std::string> mine) {
  // Workers hold consecutive samples in order of rank, so joining their rows keeps the order.
  std::string text;
  for (const auto& [sample, row] : mine) text += row;
  std::string out = prediction_header(loss_, columns_);
  for (const std::string& part : communicator_.all_gather_text(text)) out += part;
  return out;
}

}  // namespace ddl
