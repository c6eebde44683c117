// The trainer: runs a plan on the ranks of a communicator. Joins data, model, compute and comm.
#pragma once

#include "ddl/artifact/plan.h"
#include "ddl/artifact/run.h"
#include "ddl/comm/communicator.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ddl {

struct TrainOptions {
  std::filesystem::path plan;
  std::filesystem::path output;  // run folder
  TrainingRecipe recipe;
  bool resume = false;  // continue from the newest whole checkpoint in output
  bool force = false;   // replace an existing run folder
  bool change_numerics = false;
  std::optional<std::uint64_t> seed;     // needs change_numerics when it differs from the plan's
  std::string checkpoint_every = "1ep";  // Duration
  int keep_checkpoints = 3;
  std::string best_metric;     // e.g. "val accuracy"; "" for the task's usual one
  int patience = 0;            // early stop after this many evaluations without gain; 0: never
  double maximum_seconds = 0;  // --max-time: checkpoint, stop, exit 75
  bool dry_run = false;        // everything up to step 0, prints what would be done
  bool bake_preprocessing = false;
  int maximum_skipped_steps = 10;  // in a row
  bool explicit_np = false;        // a world other than the plan's was asked for
  std::vector<std::string> command;
};

// Collective. Returns the finished record (the same on all ranks); rank 0 writes the files.
// Throws stopped when ended early on request (after a checkpoint).
RunRecord train(Communicator& communicator, const TrainOptions& options);

struct EvaluateOptions {
  std::filesystem::path model;  // .onnx
  std::filesystem::path dataset;
  std::string split = "test";
  std::filesystem::path predictions;  // CSV; "-" for stdout; "" for none
};
// Collective; metrics by name, e.g. "test accuracy".
std::map<std::string, double> evaluate(Communicator& communicator, const EvaluateOptions& options);

}  // namespace ddl
