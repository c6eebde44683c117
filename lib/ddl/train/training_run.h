// One training run on one worker: the state between steps, and what happens at their borders.
// trainer.cpp is the loop; here is what it is made of.
#pragma once

#include "ddl/artifact/run.h"
#include "ddl/base/clock.h"
#include "ddl/base/progress.h"
#include "ddl/comm/communicator.h"
#include "ddl/data/order.h"
#include "ddl/train/checkpoint.h"
#include "ddl/train/evaluation.h"
#include "ddl/train/run_folder.h"
#include "ddl/train/setup.h"
#include "ddl/train/step.h"
#include "ddl/train/trainer.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ddl {

class TrainingRun {
 public:
  // Loads and checks everything that needs no writing. Collective.
  TrainingRun(Communicator& communicator, const TrainOptions& options);

  std::string preview();  // --dry-run
  RunRecord run();

 private:
  // training_run.cpp: before step 0
  void say(const std::string& text) const;  // rank 0 alone
  void warn_about_shared_cores();
  void open_folder();
  void check_numeric_class(bool set_exponents);
  std::uint64_t checkpoint_bytes() const;

  // trainer.cpp: the loop
  void train_steps();
  void inject_faults();
  void account(const StepResult& result, double seconds);
  void handle_skip(const StepResult& result);
  bool end_of_epoch();  // true: stop early
  void stop_on_request();
  void finish();

  // run_state.cpp: checkpoints
  std::vector<NamedArray> state_arrays();
  CheckpointRecord record_now() const;
  void save();
  void resume();
  void send_checkpoint(Checkpoint& checkpoint);  // from rank 0 to all
  void restore_weights(const Checkpoint& checkpoint);
  void restore_optimizer(const Checkpoint& checkpoint);
  void require_same_course(const CheckpointRecord& saved);
  void use_best_weights();
  std::string agreed_hash();

  // run_report.cpp: figures for people and run.json
  std::map<std::string, double> evaluate_splits(const std::vector<std::string>& splits);
  void say_epoch(const std::map<std::string, double>& metrics);
  void collect_reports();
  void write_record(const std::string& status);
  bool stop_wanted() const;

  Communicator& communicator_;
  TrainOptions options_;
  Stopwatch since_start_, since_told_;
  bool told_epochs_ = false;
  TrainingSetup setup_;
  int lanes_ = 1;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<BatchReader> reader_;
  std::unique_ptr<SampleOrder> order_;
  std::unique_ptr<StepRunner> runner_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<RunFolder> folder_;  // rank 0 alone
  std::unique_ptr<Progress> progress_;

  // Position and state between steps.
  std::int64_t step_ = 0, saved_step_ = -1, checkpoint_every_ = 0;
  std::int64_t skipped_steps_ = 0, skipped_in_a_row_ = 0;
  double epoch_loss_ = 0, epoch_weight_ = 0;
  BestRecord best_;

  // Sums over this process's steps, for the report.
  std::int64_t steps_here_ = 0, tasks_here_ = 0, samples_here_ = 0, all_samples_ = 0;
  double step_seconds_ = 0, compute_seconds_ = 0, communication_seconds_ = 0, input_seconds_ = 0;
  RunRecord record_;
};

}  // namespace ddl
