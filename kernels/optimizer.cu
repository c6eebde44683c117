#include "kernels/optimizer_device.h"

namespace ddl::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kMaximumBlocks = 65535;

int blocks_for(std::size_t count) {
  const std::size_t blocks = (count + kThreads - 1) / kThreads;
  return static_cast<int>(blocks < kMaximumBlocks ? blocks : kMaximumBlocks);
}

__global__ void sgd_kernel(SgdStep step, const float* gradient, std::size_t count, float* velocity,
                           float* weights) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += stride) {
    sgd_update(step, gradient[i], velocity[i], weights[i]);
  }
}

__global__ void adamw_kernel(AdamwStep step, const float* gradient, std::size_t count, float* m,
                             float* v, float* weights) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += stride) {
    adamw_update(step, gradient[i], m[i], v[i], weights[i]);
  }
}

}  // namespace

cudaError_t sgd_update_device(const SgdStep& step, const float* gradient, std::size_t count,
                              float* velocity, float* weights, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  sgd_kernel<<<blocks_for(count), kThreads, 0, stream>>>(step, gradient, count, velocity, weights);
  return cudaGetLastError();
}

cudaError_t adamw_update_device(const AdamwStep& step, const float* gradient, std::size_t count,
                                float* m, float* v, float* weights, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  adamw_kernel<<<blocks_for(count), kThreads, 0, stream>>>(step, gradient, count, m, v, weights);
  return cudaGetLastError();
}

}  // namespace ddl::kernels
