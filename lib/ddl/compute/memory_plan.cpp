#include "ddl/compute/memory_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ddl {
namespace {

std::size_t aligned(std::size_t bytes) {
  return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

std::size_t most_alive_bytes(std::span<const BufferLife> buffers) {
  int steps = 0;
  for (const BufferLife& life : buffers) steps = std::max(steps, life.last + 1);
  std::vector<std::size_t> born(static_cast<std::size_t>(steps) + 1),
      gone(static_cast<std::size_t>(steps) + 1);
  for (const BufferLife& life : buffers) {
    if (life.last < life.first) continue;
    born[static_cast<std::size_t>(life.first)] += aligned(life.bytes);
    gone[static_cast<std::size_t>(life.last) + 1] += aligned(life.bytes);
  }
  std::size_t alive = 0, most = 0;
  for (std::size_t step = 0; step < born.size(); ++step) {
    alive = alive + born[step] - gone[step];
    most = std::max(most, alive);
  }
  return most;
}

}  // namespace

MemoryPlan plan_memory(std::span<const BufferLife> buffers) {
  MemoryPlan plan;
  plan.offsets.assign(buffers.size(), 0);
  plan.lower_bound_bytes = most_alive_bytes(buffers);

  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return buffers[a].bytes > buffers[b].bytes;
  });

  std::vector<std::size_t> placed;  // sorted by offset
  for (const std::size_t index : order) {
    const BufferLife& life = buffers[index];
    if (life.last < life.first || life.bytes == 0) continue;
    const std::size_t needed = aligned(life.bytes);
    std::size_t end = 0;  // of the placed buffers seen so far that live at the same time
    std::size_t best = 0, best_gap = std::numeric_limits<std::size_t>::max();
    for (const std::size_t other : placed) {
      const BufferLife& neighbour = buffers[other];
      if (neighbour.last < life.first || neighbour.first > life.last) continue;
      const std::size_t offset = plan.offsets[other];
      if (offset >= end + needed && offset - end < best_gap) {
        best = end;
        best_gap = offset - end;
      }
      end = std::max(end, offset + aligned(neighbour.bytes));
    }
    if (best_gap == std::numeric_limits<std::size_t>::max()) best = end;
    plan.offsets[index] = best;
    plan.bytes = std::max(plan.bytes, best + needed);
    const auto after = std::upper_bound(
        placed.begin(), placed.end(), best,
        [&](std::size_t offset, std::size_t o) { return offset < plan.offsets[o]; });
    placed.insert(after, index);
  }
  return plan;
}

}  // namespace ddl
