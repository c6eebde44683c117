// Static memory: where each buffer lies in one arena, decided once from when it lives.
//
// A buffer lives from the step that writes it first to the step that reads it last, both included.
// Buffers whose lives overlap get disjoint ranges; others may share. Largest first, each into the
// smallest gap that holds it (best fit), offsets in multiples of kArenaAlignment.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ddl {

inline constexpr std::size_t kArenaAlignment = 64;

struct BufferLife {
  std::size_t bytes = 0;
  int first = 0, last = 0;  // steps; last < first: never used
};

struct MemoryPlan {
  std::vector<std::size_t> offsets;   // one per buffer
  std::size_t bytes = 0;              // of the arena
  std::size_t lower_bound_bytes = 0;  // largest sum of buffers alive at one step
};

MemoryPlan plan_memory(std::span<const BufferLife> buffers);

}  // namespace ddl
