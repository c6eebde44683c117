// The trainer: runs a plan on the ranks of a communicator. Joins data, model, compute and comm.
#pragma once

#include "ddl/artifact/plan.h"
#include "ddl/artifact/run.h"
#include "ddl/comm/communicator.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

// Faults that tests inject; each is off by default.
struct TrainFaults {
  int fail_rank = -1;  // this rank fails at the start of fail_step
  std::int64_t fail_step = -1;
  std::int64_t skip_task_of_step = -1;  // task 0 of this step is left out
  std::int64_t flip_bit_at_step = -1;   // before this step the lowest bit of a weight is flipped
  std::int64_t poison_step = -1;  // a NaN enters task 0 of this and the poison_count-1 next steps
  std::int64_t poison_count = 1;
};

struct TrainOptions {
  std::filesystem::path plan;
  std::filesystem::path output;  // run folder
  TrainingRecipe recipe;
  bool balanced_class_weights = false;  // class weights samples / (classes * count), from train
  bool resume = false;                  // continue from the newest whole checkpoint in output
  bool force = false;                   // replace an existing run folder
  bool change_numerics = false;
  std::optional<std::uint64_t> seed;     // needs change_numerics when it differs from the plan's
  std::string checkpoint_every = "1ep";  // Duration
  int keep_checkpoints = 3;
  std::string best_metric;     // model.onnx is the best by this, e.g. "val accuracy"; "": the last
  int patience = 0;            // early stop after this many evaluations without gain (0: never); by
                               // best_metric or the task's usual one, and model.onnx is the best
  double maximum_seconds = 0;  // --max-time: checkpoint, stop, exit 75
  bool bake_preprocessing = false;
  int maximum_skipped_steps = 10;  // in a row
  bool explicit_np = false;        // a world other than the plan's was asked for
  std::vector<std::string> command;
  std::function<bool()> stop_requested;  // polled at step borders; empty: never (signals.h)
  TrainFaults faults;
};

// Collective. Returns the finished record (the same on all ranks); rank 0 writes the files.
// Throws stopped when ended early on request (after a checkpoint).
RunRecord train(Communicator& communicator, const TrainOptions& options);

// Collective: everything that train() checks before step 0, without writing; the text of --dry-run.
std::string preview(Communicator& communicator, const TrainOptions& options);

struct EvaluateOptions {
  std::filesystem::path model;  // .onnx
  std::filesystem::path dataset;
  std::string split = "test";
  std::filesystem::path predictions;  // CSV file; "" for none, "-" for predictions_sink
  std::function<void(std::string_view)> predictions_sink;  // gets the CSV text on rank 0
};
// Collective; metrics by name, e.g. "test accuracy".
std::map<std::string, double> evaluate(Communicator& communicator, const EvaluateOptions& options);

}  // namespace ddl
