// Executors for the task sizes of a run: full tasks (b and b-1 samples), those of the last batch,
// and evaluation batches. Compiled when first wanted, given new weights when they are behind.
//
// Ownership: one executor per size, one Lane per lane index and size, shared weights.
// Threads: prepared() belongs to the owner, with no run in flight; run() is for lanes, each with
// its own lane index.
#pragma once

#include "ddl/compute/executor.h"
#include "ddl/data/batch.h"
#include "ddl/model/training.h"
#include "ddl/train/weights.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace ddl {

class TaskExecutors {
 public:
  struct Entry {
    TrainingGraph training;
    std::unique_ptr<Executor> executor;
    std::vector<std::unique_ptr<Lane>> lanes;
    std::uint64_t weights_version = 0;
  };
  // `build` makes the graph for a task of so many samples.
  using Build = std::function<TrainingGraph(std::int64_t samples)>;

  TaskExecutors(Build build, const std::vector<BatchInput>& inputs, ExecutorOptions options,
                int lanes);

  // Compiles if need be and brings the weights up to date.
  Entry& prepared(std::int64_t samples, const Weights& weights);
  // The graph of this size, compiled but not prepared.
  Entry& compiled(std::int64_t samples);
  // Runs a batch on a lane; its size must have been prepared.
  void run(const Batch& batch, int lane, const TaskKey& key, const OutputSink& sink) const;

 private:
  Build build_;
  std::vector<BatchInput> inputs_;
  ExecutorOptions options_;
  int lane_count_;
  std::map<std::int64_t, Entry> entries_;
};

// Which of the reader's inputs feeds each input of the model: by name, or by place when there is
// one of each. bad_input naming both lists when they do not fit. Extents are checked but for the
// batch.
std::vector<std::size_t> match_inputs(const Graph& model, const std::vector<BatchInput>& inputs);

}  // namespace ddl
