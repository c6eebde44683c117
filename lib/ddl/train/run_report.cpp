// What a run tells: metrics of an epoch, predicted beside measured, run.json.
#include "ddl/base/log.h"
#include "ddl/base/units.h"
#include "ddl/train/report.h"
#include "ddl/train/training_run.h"

#include <algorithm>
#include <cmath>

namespace ddl {

std::map<std::string, double> TrainingRun::evaluate_splits(const std::vector<std::string>& splits) {
  std::map<std::string, double> out;
  for (const std::string& split : splits) {
    if (setup_.dataset->manifest().samples(split) == 0) continue;
    for (const auto& [name, value] : evaluator_->run(split, *weights_))
      out[split + " " + name] = value;
  }
  return out;
}

void TrainingRun::say_epoch(const std::map<std::string, double>& metrics) {
  const std::int64_t total = setup_.schedule->total_steps();
  // Short epochs: not a line for each; all of them are in metrics.jsonl.
  constexpr double kQuietSeconds = 0.5;
  if (told_epochs_ && step_ < total && since_told_.seconds() < kQuietSeconds) return;
  told_epochs_ = true;
  since_told_.restart();
  const double epochs = static_cast<double>(total) / static_cast<double>(setup_.steps_per_epoch);
  std::string line = "epoch " +
                     std::to_string((step_ + setup_.steps_per_epoch - 1) / setup_.steps_per_epoch) +
                     "/" + std::to_string(static_cast<std::int64_t>(std::ceil(epochs))) + ":";
  for (const auto& [name, value] : metrics) {
    const bool told = name.ends_with("loss") || name.ends_with(usual_metric(setup_.loss)) ||
                      name.ends_with("perplexity");
    if (told) line += " " + name + " " + metric_text(value) + ",";
  }
  const double rate = step_seconds_ > 0 ? static_cast<double>(all_samples_) / step_seconds_ : 0;
  const double left = steps_here_ > 0 ? step_seconds_ / static_cast<double>(steps_here_) *
                                            static_cast<double>(total - step_)
                                      : 0;
  say(line + " " + format_rate(rate, "samples") + ", " + format_seconds(left) + " left");
}

void TrainingRun::collect_reports() {
  const double steps = std::max<double>(1, static_cast<double>(steps_here_));
  const std::vector<double> mine = {
      static_cast<double>(lanes_),        static_cast<double>(tasks_here_),
      static_cast<double>(samples_here_), compute_seconds_ / steps,
      communication_seconds_ / steps,     input_seconds_ / steps};
  const std::vector<std::string> hosts = communicator_.all_gather_text(communicator_.host());
  const auto ranks = static_cast<std::size_t>(communicator_.size());
  std::vector<double> all(ranks * mine.size());
  const std::vector<std::size_t> counts(ranks, mine.size() * sizeof(double));
  communicator_.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)),
                           counts);
  record_.workers.clear();
  // The worker that comes last waits for nobody: its time in the collective is the collective's
  // own.
  double communication = all[4];
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const double* row = all.data() + rank * mine.size();
    WorkerReport report;
    report.rank = static_cast<int>(rank);
    report.host = hosts[rank];
    report.lanes = static_cast<int>(row[0]);
    report.tasks = static_cast<std::int64_t>(row[1]);
    report.samples = static_cast<std::int64_t>(row[2]);
    report.predicted_compute_seconds = setup_.plan.workers[rank].predicted_seconds;
    report.measured_compute_seconds = row[3];
    report.measured_input_seconds = row[5];
    communication = std::min(communication, row[4]);
    report.measured_wait_seconds = row[4];
    record_.workers.push_back(report);
  }
  record_.measured_communication_seconds = communication;
  record_.predicted_communication_seconds = setup_.plan.predicted.communication_seconds;
  record_.predicted_step_seconds = setup_.plan.predicted.step_seconds;
  record_.measured_step_seconds = step_seconds_ / steps;
}

void TrainingRun::write_record(const std::string& status) {
  record_.status = status;
  record_.steps = step_;
  record_.epochs = step_ / setup_.steps_per_epoch;
  record_.skipped_steps = skipped_steps_;
  if (status != "running") record_.finished = utc_timestamp();
  if (folder_) folder_->write_record(record_);
}

}  // namespace ddl
