#include "kernels/exact.h"
#include "kernels/exact_device.h"

namespace ddl::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kMaximumBlocks = 65535;

int blocks_for(std::size_t count) {
  const std::size_t blocks = (count + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < kMaximumBlocks ? blocks : kMaximumBlocks);
}

__global__ void largest_kernel(const float* values, std::size_t count, std::uint32_t* largest) {
  std::uint32_t mine = 0;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += stride) {
    const std::uint32_t bits = magnitude_bits(values[i]);
    mine = bits > mine ? bits : mine;
  }
  mine = __reduce_max_sync(0xFFFFFFFFU, mine);
  if (threadIdx.x % 32 == 0) atomicMax(largest, mine);
}

__global__ void quantise_add_kernel(const float* values, std::size_t count, double scale,
                                    std::int64_t* sums) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += stride) {
    sums[i] += quantise_large(values[i], scale);
  }
}

}  // namespace

cudaError_t largest_magnitude_bits_device(const float* values, std::size_t count,
                                          std::uint32_t* largest, cudaStream_t stream) {
  const cudaError_t cleared = cudaMemsetAsync(largest, 0, sizeof *largest, stream);
  if (cleared != cudaSuccess || count == 0) return cleared;
  largest_kernel<<<blocks_for(count), kThreads, 0, stream>>>(values, count, largest);
  return cudaGetLastError();
}

cudaError_t quantise_add_device(const float* values, std::size_t count, int exponent,
                                std::int64_t* sums, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  quantise_add_kernel<<<blocks_for(count), kThreads, 0, stream>>>(
      values, count, power_of_two(kFractionBits - exponent), sums);
  return cudaGetLastError();
}

}  // namespace ddl::kernels
