// One global step: run my tasks on my lanes, add the workers' integers, update or skip.
//
//   gradient  = sum over tasks / W,   W = total weight of the step (exact, fixed point)
//   loss      = sum of weighted losses / W
// Batch-norm statistics are those of a task; a task of n samples adds n * mean and n * variance to
// the same accumulator, the variance times m / (m - 1), where m is the number of values per channel
// in the task (the unbiased estimate, as PyTorch keeps it). Running values take one update a step
// from the sums over samples. A task with m = 1 says nothing about variance and is left out of it.
//
// A NaN, an Inf or a value beyond both ranges of the accumulator makes all workers skip the step.
//
// Threads: one owner; lanes are inside. Errors of a lane come out of run().
#pragma once

#include "ddl/artifact/plan.h"
#include "ddl/base/threads.h"
#include "ddl/comm/communicator.h"
#include "ddl/comm/exact.h"
#include "ddl/data/order.h"
#include "ddl/train/batch_stream.h"
#include "ddl/train/optimizer.h"
#include "ddl/train/schedule.h"
#include "ddl/train/task_executors.h"
#include "ddl/train/trainer.h"
#include "ddl/train/weights.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace ddl {

struct StepResult {
  bool skipped = false;
  int bad_tensor = -1;       // of the accumulator; -1: the loss itself
  double loss = 0;           // weighted mean over the step's rows
  double weight = 0;         // W above
  std::int64_t samples = 0;  // of all workers
  std::int64_t my_tasks = 0, my_samples = 0;
  bool stop = false;  // some worker was asked to stop
  float learning_rate = 0;
  // This worker's times: its own tasks, the collective after them (waiting included), the update,
  // and the mean over lanes of waiting for data.
  double compute_seconds = 0, communication_seconds = 0, update_seconds = 0, input_seconds = 0;
};

struct StepParts {
  const Plan& plan;  // dealt for this world
  const Schedule& schedule;
  const SampleOrder& order;
  const BatchReader& reader;
  TaskExecutors::Build build;  // training graph of a task size
  ExecutorOptions executor;
  int lanes = 1;
  TrainFaults faults;
};

class StepRunner {
 public:
  StepRunner(Communicator& communicator, StepParts parts, Weights& weights,
             const TrainingRecipe& recipe);
  ~StepRunner();

  // Runs task 0 of step 0 without an update and returns a hash of the loss and gradient bits; with
  // `set_exponents` the accumulator's exponents start from it.
  std::string first_look(bool set_exponents);

  // Collective. `stop_wanted` is this worker's wish; all learn of it in the result.
  StepResult run(std::int64_t step, bool stop_wanted);

  // After a skipped step: which samples gave values that are not finite. Collective.
  std::string diagnose(std::int64_t step);
  std::string tensor_name(int tensor) const;

  ExactExponents exponents() const;
  void set_exponents(const ExactExponents& exponents);
  Optimizer& optimizer() { return *optimizer_; }
  const std::vector<std::string>& parameter_names() const { return parameter_names_; }
  std::size_t accumulator_bytes() const;
  std::size_t lane_bytes();
  std::int64_t steps_per_epoch() const { return steps_per_epoch_; }

 private:
  struct Totals;
  struct Block {
    std::size_t parameter = 0, first = 0, count = 0;
  };
  StepTasks tasks_of(std::int64_t step) const;
  TaskSpec task(std::int64_t step, const StepTasks& cut, std::int64_t number) const;
  std::vector<TaskSpec> my_tasks(std::int64_t step) const;
  void announce(std::int64_t step);
  void run_task(const LoadedTask& loaded, std::int64_t step, int lane, Totals& totals);
  void fold(int tensor, std::span<const float> values);
  void add_statistic(std::size_t statistic, std::int64_t samples, std::span<const float> values);
  void update(std::int64_t step, double total_weight, float learning_rate);
  void update_statistics(std::int64_t step);

  Communicator& communicator_;
  StepParts parts_;
  Weights& weights_;
  std::int64_t steps_per_epoch_;
  TaskExecutors executors_;
  ThreadPool pool_;
  std::vector<TensorId> parameters_;
  std::vector<std::string> parameter_names_;
  std::vector<TrainingGraph::Statistic> statistics_;
  std::vector<std::string> statistic_names_;
  std::vector<Block> blocks_;
  std::unique_ptr<ExactAccumulator> exact_;
  std::unique_ptr<FastAccumulator> fast_;
  std::unique_ptr<Optimizer> optimizer_;
  std::int64_t announced_ = -1;
  std::unique_ptr<BatchStream> stream_;  // last: its thread ends first
};

}  // namespace ddl
