// run.json: everything needed to repeat a run, and what came of it.
#pragma once

#include "ddl/artifact/plan.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddl {

// What a user chose about the training itself; every value is a function of the global step alone.
struct TrainingRecipe {
  std::string optimizer = "sgd";  // "sgd" or "adamw"
  double learning_rate = 0.1;
  double momentum = 0.9;                              // sgd
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adamw
  double weight_decay = 0;            // sgd: added to the gradient; adamw: decoupled
  std::string schedule = "constant";  // "constant" or "cosine"
  std::string warmup = "0st";         // Duration
  std::string length = "10ep";        // Duration
  double final_learning_rate = 0;     // of cosine
  std::vector<double> class_weights;  // per class; empty: all 1
  std::string init;                   // path of --init, "" for fresh weights
  bool operator==(const TrainingRecipe&) const = default;
};

// Predicted beside measured, per worker.
struct WorkerReport {
  int rank = 0;
  std::string host;
  int lanes = 1;
  std::int64_t tasks = 0, samples = 0;                                 // in total over the run
  double predicted_compute_seconds = 0, measured_compute_seconds = 0;  // mean per step
  double measured_wait_seconds = 0;   // mean per step: time in the collective after own work
  double measured_input_seconds = 0;  // mean per step: lanes waiting for data
};

struct RunRecord {
  std::string ddl_version;
  std::vector<std::string> command;
  Numerics numerics;
  TrainingRecipe recipe;
  Plan plan;
  std::string started, finished;  // UTC; labels only
  std::string numeric_class;
  std::string task0_hash;  // gradient bits of task 0, equal on all workers
  std::int64_t steps = 0, epochs = 0, skipped_steps = 0;
  std::vector<std::int64_t> resumed_at;   // steps at which this run was resumed
  std::map<std::string, double> metrics;  // "test accuracy", "val loss", …
  double predicted_step_seconds = 0, measured_step_seconds = 0;
  double predicted_communication_seconds = 0, measured_communication_seconds = 0;
  std::vector<WorkerReport> workers;
  std::string parameters_hash;
  std::string status;                   // "running", "done", "stopped", "failed"
  std::vector<std::string> deviations;  // explicit options that give up a promise
};

RunRecord read_run(const std::filesystem::path& file);
void write_run(const RunRecord& run, const std::filesystem::path& file);

}  // namespace ddl
