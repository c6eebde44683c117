// plan.json: who runs which tasks, and what the bits depend on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ddl {

// All that the bits of a run depend on (DESIGN: numerics). Fixed at the first plan; re-planning and
// resuming may change anything but this.
struct Numerics {
  std::int64_t global_batch = 64;  // samples a step
  std::int64_t task_samples = 16;  // b: samples of one task
  int threads_per_task = 1;
  std::string dtype = "float32";    // of activations and products
  std::string reduction = "exact";  // "exact" or "fast"
  std::string codec = "none";
  std::string order = "full";  // "full" or "none": how each epoch is shuffled
  std::uint64_t seed = 1;
  std::string isa = "native";  // "native", "avx2", "avx512": cap of the instruction set
  std::map<std::string, std::string>
      libraries;                               // e.g. "oneDNN": "2.6.3"; empty until a run fills it
  std::map<std::string, std::string> kernels;  // op -> chosen candidate, where there was a choice
  bool operator==(const Numerics&) const = default;

  std::int64_t tasks_per_step() const { return (global_batch + task_samples - 1) / task_samples; }
};

// Tasks [first, first + count) of a full step.
struct TaskRange {
  std::int64_t first = 0, count = 0;
  bool operator==(const TaskRange&) const = default;
};

struct PlannedWorker {
  int rank = 0;
  std::string host;
  std::string device = "cpu";
  int lanes = 1;                  // tasks side by side
  double samples_per_second = 1;  // planned rate, all lanes together
  double task_seconds = 0;        // one task with `lanes` side by side
  TaskRange tasks;
  double predicted_seconds = 0;  // compute of one step
};

struct Prediction {
  double compute_seconds = 0;        // slowest worker
  double communication_seconds = 0;  // reduction of one step
  double input_seconds = 0;
  double update_seconds = 0;
  double step_seconds = 0;
  double epoch_seconds = 0;
  double samples_per_second = 0;
  double utilisation = 0;          // mean busy share over workers
  double rounding_loss = 0;        // slowest finish over the fractional optimum, minus 1
  std::uint64_t memory_bytes = 0;  // largest worker
};

struct Alternative {
  std::string what;  // "task size 32"
  double step_seconds = 0;
  std::string why;  // why it was not taken
};

struct Plan {
  Numerics numerics;
  std::string dataset;       // path to dataset.json's folder, relative to the plan file or absolute
  std::string dataset_hash;  // manifest hash: other data is refused
  std::string model;         // built-in name, or path to a .onnx as `dataset`
  std::map<std::string, std::string> model_options;  // of a built-in, e.g. "hidden": "128"
  std::string model_hash;
  std::int64_t parameters = 0;
  std::int64_t train_samples = 0;
  std::vector<PlannedWorker> workers;
  Prediction predicted;
  std::vector<Alternative> alternatives;
  std::vector<std::string> notes;
};

Plan read_plan(const std::filesystem::path& file);
void write_plan(const Plan& plan, const std::filesystem::path& file);
std::string plan_text(const Plan& plan);

}  // namespace ddl
