// One thread per element, and a loop when there are more elements than a grid takes.
#pragma once

#include <cstddef>

namespace ddl::kernels {

constexpr int kThreadsPerBlock = 256;

inline unsigned grid_blocks(std::size_t n) {
  constexpr std::size_t kMostBlocks = 65535;
  const std::size_t blocks = (n + kThreadsPerBlock - 1) / kThreadsPerBlock;
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

__device__ inline std::size_t grid_first() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ inline std::size_t grid_stride() {
  return static_cast<std::size_t>(gridDim.x) * blockDim.x;
}

}  // namespace ddl::kernels
