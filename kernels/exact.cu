#include "kernels/exact.h"
#include "kernels/exact_device.h"
#include "kernels/grid.cuh"

#include <cuda_runtime_api.h>

namespace ddl::kernels {
namespace {

__global__ void max_bits_kernel(const float* values, std::size_t n, std::uint32_t* largest) {
  std::uint32_t mine = 0;
  for (std::size_t i = grid_first(); i < n; i += grid_stride()) {
    const std::uint32_t bits = absolute_bits(values[i]);
    mine = bits > mine ? bits : mine;
  }
  mine = __reduce_max_sync(0xffffffffU, mine);
  if (threadIdx.x % 32 == 0 && mine != 0) atomicMax(largest, mine);
}

__global__ void quantise_add_kernel(const float* values, std::size_t n, int exponent,
                                    int limit_bits, const std::uint32_t* largest,
                                    std::int64_t* sums, std::int64_t* second, DeviceSeen* seen) {
  const std::uint32_t bits = *largest;
  const Placement where = placement(bits, exponent, limit_bits);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    if (bits < kInfinityBits) atomicMax(&seen->largest, bits);
    if (where == Placement::second) seen->spilled = 1;
    if (where == Placement::bad) seen->bad = 1;
  }
  if (where == Placement::bad) return;
  std::int64_t* to = where == Placement::first ? sums : second;
  const int used = where == Placement::first ? exponent : exponent + kSpillBits;
  for (std::size_t i = grid_first(); i < n; i += grid_stride()) to[i] += quantise(values[i], used);
}

__global__ void floats_kernel(const std::int64_t* sums, double quantum, const std::int64_t* second,
                              double second_quantum, double scale, std::size_t n, float* out) {
  for (std::size_t i = grid_first(); i < n; i += grid_stride()) {
    double value = static_cast<double>(sums[i]) * quantum;
    if (second != nullptr) value = value + static_cast<double>(second[i]) * second_quantum;
    out[i] = static_cast<float>(value * scale);
  }
}

}  // namespace

int launch_max_absolute_bits(const float* values, std::size_t n, std::uint32_t* largest,
                             CUstream_st* stream) {
  const cudaError_t cleared = cudaMemsetAsync(largest, 0, sizeof *largest, stream);
  if (cleared != cudaSuccess || n == 0) return cleared;
  max_bits_kernel<<<grid_blocks(n), kThreadsPerBlock, 0, stream>>>(values, n, largest);
  return cudaGetLastError();
}

int launch_quantise_add(const float* values, std::size_t n, int exponent, int limit_bits,
                        const std::uint32_t* largest, std::int64_t* sums, std::int64_t* second,
                        DeviceSeen* seen, CUstream_st* stream) {
  if (n == 0) return cudaSuccess;
  quantise_add_kernel<<<grid_blocks(n), kThreadsPerBlock, 0, stream>>>(
      values, n, exponent, limit_bits, largest, sums, second, seen);
  return cudaGetLastError();
}

int launch_sums_to_floats(const std::int64_t* sums, double quantum, const std::int64_t* second,
                          double second_quantum, double scale, std::size_t n, float* out,
                          CUstream_st* stream) {
  if (n == 0) return cudaSuccess;
  floats_kernel<<<grid_blocks(n), kThreadsPerBlock, 0, stream>>>(sums, quantum, second,
                                                                 second_quantum, scale, n, out);
  return cudaGetLastError();
}

}  // namespace ddl::kernels
