// Probes of one worker's processors and memory, on all its lanes at once.
#pragma once

#include "ddl/artifact/cluster.h"
#include "ddl/base/dtype.h"
#include "ddl/base/threads.h"
#include "ddl/profile/budget.h"

#include <cstddef>
#include <cstdint>

namespace ddl::profile {

// Square matrix products of one thread each, side by side on every thread of the pool: FLOP/s of
// one thread. The size is the largest of 256 to 2048 of which several fit into `seconds`. A type
// that the processor or library has no product for gives no samples.
struct ProductRate {
  std::int64_t size = 0;
  Measured flops_per_second;
};
ProductRate product_rate(ThreadPool& pool, DType dtype, const Clock& clock, double seconds);

// Bytes of one of a thread's two copy buffers: with those of all `threads` of the node well beyond
// the last cache, within an eighth of the memory at hand, and so that a copy fits into `seconds`.
std::size_t copy_buffer_bytes(std::uint64_t last_cache_bytes, std::uint64_t available_bytes,
                              int threads, double seconds);

// memcpy between two buffers of each thread: bytes read plus bytes written per second, all threads
// of the pool together.
Measured copy_rate(ThreadPool& pool, std::size_t buffer_bytes, const Clock& clock, double seconds);

}  // namespace ddl::profile
