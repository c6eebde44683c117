// The order of samples: a pure function of (manifest hash, seed, epoch, position), the same on
// every rank, machine and thread count. Each sample comes exactly once an epoch; the remainder is
// kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

class SampleOrder {
 public:
  // order: "full" (a fresh permutation every epoch) or "none" (stored order).
  SampleOrder(std::string_view manifest_hash, std::uint64_t seed, std::int64_t samples,
              std::string_view order);
  // The permutation of one epoch: position -> sample index. Cached for the last epoch asked.
  const std::vector<std::uint32_t>& epoch(std::int64_t epoch_number) const;
  std::int64_t samples() const { return samples_; }

 private:
  std::uint64_t key_;
  std::int64_t samples_;
  bool shuffled_;
  mutable std::int64_t cached_epoch_ = -1;
  mutable std::vector<std::uint32_t> cached_;
};

// The steps of an epoch and the tasks of a step.
struct StepTasks {
  // Task t covers positions [first[t], first[t+1]) of the epoch.
  std::vector<std::int64_t> first;
  std::int64_t tasks() const { return static_cast<std::int64_t>(first.size()) - 1; }
};
std::int64_t steps_per_epoch(std::int64_t samples, std::int64_t global_batch);
// Step s of an epoch. A last batch of n samples is cut into ceil(n/b) tasks that differ by at most
// one sample (larger ones first); full batches likewise.
StepTasks step_tasks(std::int64_t samples, std::int64_t global_batch, std::int64_t task_samples,
                     std::int64_t step_in_epoch);

}  // namespace ddl
