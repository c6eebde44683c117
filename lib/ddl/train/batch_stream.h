// Batches of a worker's tasks, read ahead of the lanes that run them.
//
// The owner announces the tasks of a step (and of the next one, since the order of samples is
// known). One reader thread fetches batches ahead, at most `read_ahead` of them; a lane takes a
// ready one, or reads one that nobody has begun, so that no lane waits while work is left to do.
// Which thread reads a batch, and which lane runs it, never changes a bit.
//
// Threads: announce() belongs to the owner; take() and recycle() are for lanes. Errors of the
// reader thread come out of the take() that wanted the batch.
#pragma once

#include "ddl/data/batch.h"

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace ddl {

struct TaskSpec {
  std::int64_t number = 0;  // of the step
  std::vector<std::int64_t> sample_ids;
};

struct LoadedTask {
  TaskSpec spec;
  Batch batch;
};

class BatchStream {
 public:
  BatchStream(const BatchReader& reader, int read_ahead);
  ~BatchStream();
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;

  void announce(std::int64_t step, std::vector<TaskSpec> tasks);
  // A task of `step` with its batch; nullptr when all are taken. Adds the seconds spent on reading
  // or waiting to input_seconds.
  std::unique_ptr<LoadedTask> take(std::int64_t step, double& input_seconds);
  void recycle(std::unique_ptr<LoadedTask> task);

 private:
  enum class State { waiting, reading, ready };
  struct Entry {
    std::int64_t step = 0;
    State state = State::waiting;
    std::unique_ptr<LoadedTask> task;
    std::exception_ptr error;
  };
  void read_ahead_loop();
  std::unique_ptr<LoadedTask> fresh_task();

  const BatchReader& reader_;
  const int read_ahead_;
  std::mutex mutex_;
  std::condition_variable work_, ready_;
  std::deque<std::shared_ptr<Entry>> entries_;
  std::vector<std::unique_ptr<LoadedTask>> spare_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ddl
