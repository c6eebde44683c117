#include "ddl/data/order.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/random.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ddl {
namespace {

std::uint64_t order_key(std::string_view manifest_hash, std::uint64_t seed) {
  Xxh128 hash;
  hash.update(manifest_hash);
  hash.update_u64(seed);
  return hash.low64();
}

}  // namespace

SampleOrder::SampleOrder(std::string_view manifest_hash, std::uint64_t seed, std::int64_t samples,
                         std::string_view order)
    : key_(order_key(manifest_hash, seed)), samples_(samples), shuffled_(order == "full") {
  if (order != "full" && order != "none")
    throw bad_input("sample order '" + std::string(order) + "' is unknown", "use full or none");
  if (samples < 0 || samples > std::numeric_limits<std::uint32_t>::max())
    throw bad_input("a split of " + std::to_string(samples) + " samples cannot be ordered",
                    "at most 4,294,967,295 samples");
}

const std::vector<std::uint32_t>& SampleOrder::epoch(std::int64_t epoch_number) const {
  // The stored order is the same in every epoch.
  const std::int64_t wanted = shuffled_ ? epoch_number : 0;
  if (cached_epoch_ == wanted) return cached_;
  const auto count = static_cast<std::uint32_t>(samples_);
  if (shuffled_) {
    cached_ = random_permutation(
        count, Random(key_, "sample order", static_cast<std::uint64_t>(epoch_number)));
  } else {
    cached_.resize(count);
    std::iota(cached_.begin(), cached_.end(), 0U);
  }
  cached_epoch_ = wanted;
  return cached_;
}

std::int64_t steps_per_epoch(std::int64_t samples, std::int64_t global_batch) {
  if (samples < 0 || global_batch < 1)
    throw bad_input("a global batch of " + std::to_string(global_batch) + " over " +
                    std::to_string(samples) + " samples gives no steps");
  return samples / global_batch + (samples % global_batch != 0 ? 1 : 0);
}

StepTasks step_tasks(std::int64_t samples, std::int64_t global_batch, std::int64_t task_samples,
                     std::int64_t step_in_epoch) {
  if (task_samples < 1)
    throw bad_input("tasks of " + std::to_string(task_samples) + " samples cannot be run");
  if (step_in_epoch < 0 || step_in_epoch >= steps_per_epoch(samples, global_batch))
    throw bad_input("step " + std::to_string(step_in_epoch) + " is not a step of the epoch");
  const std::int64_t begin = step_in_epoch * global_batch;
  const std::int64_t count = std::min(global_batch, samples - begin);
  const std::int64_t tasks = count / task_samples + (count % task_samples != 0 ? 1 : 0);
  const std::int64_t small = count / tasks, larger_ones = count % tasks;
  StepTasks out;
  out.first.reserve(static_cast<std::size_t>(tasks) + 1);
  for (std::int64_t t = 0; t <= tasks; ++t)
    out.first.push_back(begin + t * small + std::min(t, larger_ones));
  return out;
}

}  // namespace ddl
