#include "ddl/train/trainer.h"

#include "ddl/base/error.h"
#include "ddl/base/log.h"
#include "ddl/base/units.h"
#include "ddl/train/agreement.h"
#include "ddl/train/report.h"
#include "ddl/train/training_run.h"

#include <algorithm>
#include <cmath>

namespace ddl {

RunRecord train(Communicator& communicator, const TrainOptions& options) {
  TrainingRun run(communicator, options);
  return run.run();
}

std::string preview(Communicator& communicator, const TrainOptions& options) {
  TrainingRun run(communicator, options);
  return run.preview();
}

RunRecord TrainingRun::run() {
  open_folder();
  if (options_.resume) {
    resume();
  } else {
    check_numeric_class(true);
  }
  agree(communicator_, [&] {
    if (folder_) folder_->open(step_);
    record_.started = utc_timestamp();
    write_record("running");
  });
  say(setup_.schedule->text() + ", " + std::to_string(setup_.steps_per_epoch) + " an epoch");
  try {
    train_steps();
    finish();
  } catch (const Error& error) {
    progress_.reset();
    if (error.kind() != ErrorKind::stopped && folder_) {
      try {
        write_record("failed");
      } catch (const Error& second) {
        log_warning(second.what());  // the first error is the one to tell
      }
    }
    throw;
  }
  return record_;
}

bool TrainingRun::stop_wanted() const {
  if (options_.stop_requested && options_.stop_requested()) return true;
  return communicator_.rank() == 0 && options_.maximum_seconds > 0 &&
         since_start_.seconds() >= options_.maximum_seconds;
}

void TrainingRun::train_steps() {
  const std::int64_t total = setup_.schedule->total_steps();
  if (communicator_.rank() == 0)
    progress_ = std::make_unique<Progress>("training", static_cast<std::uint64_t>(total), "steps");
  if (progress_) progress_->set(static_cast<std::uint64_t>(step_));
  Stopwatch watch;
  while (step_ < total) {
    inject_faults();
    watch.restart();
    const StepResult result = runner_->run(step_, stop_wanted());
    account(result, watch.seconds());
    if (result.skipped) handle_skip(result);
    ++step_;
    const bool epoch_ended = step_ % setup_.steps_per_epoch == 0 || step_ == total;
    if (epoch_ended && end_of_epoch()) break;
    if (result.stop && step_ < total) stop_on_request();
    const bool due = checkpoint_every_ > 0 && step_ % checkpoint_every_ == 0;
    if (due && saved_step_ != step_) save();
  }
  progress_.reset();
}

void TrainingRun::inject_faults() {
  const TrainFaults& faults = options_.faults;
  if (faults.fail_rank == communicator_.rank() && faults.fail_step == step_)
    throw failure("this worker was told to fail at step " + std::to_string(step_));
  if (faults.flip_bit_at_step == step_) {
    HostTensor& value = *weights_->all().front().value;
    value.bytes.front() ^= std::byte{1};
    weights_->changed();
  }
}

void TrainingRun::account(const StepResult& result, double seconds) {
  ++steps_here_;
  step_seconds_ += seconds;
  compute_seconds_ += result.compute_seconds;
  communication_seconds_ += result.communication_seconds;
  input_seconds_ += result.input_seconds;
  tasks_here_ += result.my_tasks;
  samples_here_ += result.my_samples;
  all_samples_ += result.samples;
  if (!result.skipped) {
    skipped_in_a_row_ = 0;
    epoch_loss_ += result.loss * result.weight;
    epoch_weight_ += result.weight;
  }
  if (folder_)
    folder_->log_step(step_, step_ / setup_.steps_per_epoch, result.loss,
                      static_cast<double>(result.learning_rate), result.samples, seconds,
                      result.skipped);
  if (progress_) {
    progress_->set(static_cast<std::uint64_t>(step_ + 1));
    progress_->note("loss " + metric_text(result.loss) + ", " +
                    format_rate(static_cast<double>(all_samples_) / step_seconds_, "samples"));
  }
}

void TrainingRun::handle_skip(const StepResult& result) {
  ++skipped_steps_;
  ++skipped_in_a_row_;
  const bool give_up = skipped_in_a_row_ >= options_.maximum_skipped_steps;
  if (!give_up && skipped_in_a_row_ > 1) return;
  const std::string samples = runner_->diagnose(step_);
  const std::string what =
      runner_->tensor_name(result.bad_tensor) + " is not finite or out of range (" + samples + ")";
  if (communicator_.rank() == 0 && !give_up)
    log_warning("step " + std::to_string(step_) + " is skipped by all workers: " + what);
  agree(communicator_, [&] {
    if (give_up)
      throw failure("step " + std::to_string(step_) + ": " + what + "; " +
                        std::to_string(skipped_in_a_row_) + " steps in a row were skipped",
                    "lower --learning-rate, or look at those samples");
  });
}

bool TrainingRun::end_of_epoch() {
  const bool has_validation = setup_.dataset->manifest().samples("val") > 0;
  std::map<std::string, double> metrics = evaluate_splits({has_validation ? "val" : "test"});
  if (epoch_weight_ > 0) metrics["train loss"] = epoch_loss_ / epoch_weight_;
  epoch_loss_ = epoch_weight_ = 0;
  agree(communicator_, [&] {
    if (folder_) folder_->log_evaluation(step_, (step_ - 1) / setup_.steps_per_epoch, metrics);
  });
  say_epoch(metrics);
  if (setup_.metric.empty()) return false;

  // Metrics are the same on all workers; still one of them decides, and tells the others.
  const double value = metrics.at(setup_.metric);
  const double sign = larger_is_better(setup_.metric.substr(4)) ? 1 : -1;
  std::int64_t gained = best_.step < 0 || sign * value > sign * best_.value ? 1 : 0;
  if (std::isnan(value)) gained = 0;
  gained = std::stoll(communicator_.broadcast_text(std::to_string(gained), 0));
  if (gained != 0) {
    best_ = {setup_.metric, value, step_, 0};
    save();
  } else {
    ++best_.evaluations_without_gain;
  }
  const bool stop = options_.patience > 0 && best_.evaluations_without_gain >= options_.patience;
  if (stop)
    say("stopping early: " + setup_.metric + " has not improved for " +
        std::to_string(options_.patience) + " evaluations");
  return stop;
}

void TrainingRun::stop_on_request() {
  progress_.reset();
  if (saved_step_ != step_) save();
  collect_reports();
  record_.parameters_hash = agreed_hash();
  agree(communicator_, [&] { write_record("stopped"); });
  agree(communicator_, [&] {
    throw Error(ErrorKind::stopped,
                "stopped on request after step " + std::to_string(step_) + " of " +
                    std::to_string(setup_.schedule->total_steps()) + ", a checkpoint is written",
                "run again with --resume to go on");
  });
}

void TrainingRun::finish() {
  if (saved_step_ != step_) save();
  if (best_.step >= 0 && best_.step != step_) {
    use_best_weights();
    say("the model is that of step " + std::to_string(best_.step) + ", the best by " +
        best_.metric + " (" + metric_text(best_.value) + ")");
  }
  record_.metrics = evaluate_splits({"val", "test"});
  record_.parameters_hash = agreed_hash();
  collect_reports();
  agree(communicator_, [&] {
    if (!folder_) return;
    ModelMetadata metadata = model_metadata(setup_.dataset->manifest());
    metadata.provenance["ddl.parameters_hash"] = record_.parameters_hash;
    SaveOnnxOptions save_options;
    save_options.bake_preprocessing = options_.bake_preprocessing;
    save_onnx(*setup_.model, weights_->by_name(), metadata, folder_->model_file(), save_options);
  });
  agree(communicator_, [&] { write_record("done"); });
}

}  // namespace ddl
