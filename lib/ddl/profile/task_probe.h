// The time of one training task: forward, backward, and folding every gradient into the worker's
// exact accumulator, as ddl-train does it, with one lane and with all lanes side by side. Reading
// the samples is not part of it.
#pragma once

#include "ddl/artifact/cluster.h"
#include "ddl/base/threads.h"
#include "ddl/comm/communicator.h"
#include "ddl/data/batch.h"
#include "ddl/data/dataset.h"
#include "ddl/model/graph.h"
#include "ddl/model/training.h"
#include "ddl/profile/budget.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace ddl::profile {

// A model on a data set, loaded and checked against each other. Errors: bad_input naming the file.
class TaskSubject {
 public:
  TaskSubject(const std::string& model, const std::map<std::string, std::string>& model_options,
              const std::filesystem::path& dataset);
  TaskSubject(const TaskSubject&) = delete;
  TaskSubject& operator=(const TaskSubject&) = delete;

  const Graph& model() const { return model_; }
  LossKind loss() const { return loss_; }
  const BatchReader& reader() const { return reader_; }
  std::int64_t samples() const { return samples_; }  // of the split train
  // Position in reader().inputs() for each input of the model.
  const std::vector<std::size_t>& fields() const { return fields_; }
  ModelProfile profile() const { return profile_; }  // names and hashes; no times

 private:
  Dataset dataset_;
  BatchReader reader_;
  Graph model_;
  LossKind loss_;
  std::int64_t samples_ = 0;
  std::vector<std::size_t> fields_;
  ModelProfile profile_;
};

struct TaskProbeOptions {
  std::vector<int> sizes;  // empty: powers of two, as far as time, memory and samples go
  std::uint64_t available_memory_bytes = 0;  // of the node; 0: unknown
  double seconds = 10;
  std::function<void(int size)> started;  // told before each size
};

// Collective: all workers run their tasks at the same time. Returns this worker's times, sizes in
// order, the same sizes on every rank. With `sizes` empty a size is left out, with all larger ones,
// when it would not fit into the time or half of the memory. bad_input for a size asked for that
// the memory cannot hold.
std::vector<TaskTime> measure_tasks(Communicator& communicator, const TaskSubject& subject,
                                    ThreadPool& pool, const Clock& clock,
                                    const TaskProbeOptions& options);

}  // namespace ddl::profile
