// The exact reduction's arithmetic on a GPU: the integers are those of the host. Pointers are
// device memory; calls return at once, run in order on the stream, and give a cudaError_t as int
// (0: launched). Compiled only where nvcc is. No CUDA header is needed to include this one.
#pragma once

#include <cstddef>
#include <cstdint>

struct CUstream_st;  // *: cudaStream_t

namespace ddl::kernels {

// What the tasks of a step have shown of a tensor; zero it at the start of the step.
struct DeviceSeen {
  std::uint32_t largest;  // absolute_bits of the largest finite value
  std::uint32_t spilled;  // 1 when a task went into the second accumulator
  std::uint32_t bad;      // 1 when a task was beyond both ranges, or had NaN or Inf
};

// *largest = the largest absolute_bits of n values.
int launch_max_absolute_bits(const float* values, std::size_t n, std::uint32_t* largest,
                             CUstream_st* stream);

// Adds one task's tensor, where *largest (device memory) says: to `sums`, to `second`, or nowhere.
// One task at a time for one pair of accumulators: calls on one stream.
int launch_quantise_add(const float* values, std::size_t n, int exponent, int limit_bits,
                        const std::uint32_t* largest, std::int64_t* sums, std::int64_t* second,
                        DeviceSeen* seen, CUstream_st* stream);

// out[i] = float of the two sums, as sums_to_floats in host_loops.h; second may be null.
int launch_sums_to_floats(const std::int64_t* sums, double quantum, const std::int64_t* second,
                          double second_quantum, double scale, std::size_t n, float* out,
                          CUstream_st* stream);

}  // namespace ddl::kernels
