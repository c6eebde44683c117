#include "ddl/train/batch_stream.h"

#include "ddl/base/clock.h"

#include <algorithm>

namespace ddl {

BatchStream::BatchStream(const BatchReader& reader, int read_ahead)
    : reader_(reader),
      read_ahead_(std::max(1, read_ahead)),
      thread_([this] { read_ahead_loop(); }) {}

BatchStream::~BatchStream() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  thread_.join();
}

std::unique_ptr<LoadedTask> BatchStream::fresh_task() {
  if (spare_.empty()) return std::make_unique<LoadedTask>();
  std::unique_ptr<LoadedTask> task = std::move(spare_.back());
  spare_.pop_back();
  return task;
}

void BatchStream::announce(std::int64_t step, std::vector<TaskSpec> tasks) {
  {
    const std::lock_guard lock(mutex_);
    for (TaskSpec& spec : tasks) {
      auto entry = std::make_shared<Entry>();
      entry->step = step;
      entry->task = fresh_task();
      entry->task->spec = std::move(spec);
      entries_.push_back(std::move(entry));
    }
  }
  work_.notify_all();
}

void BatchStream::read_ahead_loop() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    std::shared_ptr<Entry> next;
    int ahead = 0;
    for (const auto& entry : entries_) {
      if (ahead++ >= read_ahead_) break;
      if (entry->state == State::waiting) {
        next = entry;
        break;
      }
    }
    if (!next) {
      work_.wait(lock);
      continue;
    }
    next->state = State::reading;
    lock.unlock();
    std::exception_ptr error;
    try {
      reader_.read(next->task->spec.sample_ids, next->task->batch);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    next->error = error;
    next->state = State::ready;
    ready_.notify_all();
  }
}

std::unique_ptr<LoadedTask> BatchStream::take(std::int64_t step, double& input_seconds) {
  const Stopwatch watch;
  std::unique_lock lock(mutex_);
  while (true) {
    auto chosen = entries_.end();
    bool any = false;
    int place = 0;
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      // Nothing beyond the reader's window is ready or being read.
      if (place++ > read_ahead_ && chosen != entries_.end()) break;
      if ((*it)->step != step || (*it)->state == State::reading) {
        any = any || (*it)->step == step;
        continue;
      }
      any = true;
      if ((*it)->state == State::ready) {
        chosen = it;
        break;
      }
      if (chosen == entries_.end()) chosen = it;
    }
    if (!any) return nullptr;
    if (chosen == entries_.end()) {  // the last ones are being read
      ready_.wait(lock);
      continue;
    }
    const std::shared_ptr<Entry> entry = *chosen;
    entries_.erase(chosen);
    work_.notify_all();
    lock.unlock();
    if (entry->error) std::rethrow_exception(entry->error);
    if (entry->state == State::waiting)
      reader_.read(entry->task->spec.sample_ids, entry->task->batch);
    input_seconds += watch.seconds();
    return std::move(entry->task);
  }
}

void BatchStream::recycle(std::unique_ptr<LoadedTask> task) {
  const std::lock_guard lock(mutex_);
  spare_.push_back(std::move(task));
}

}  // namespace ddl
