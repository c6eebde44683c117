#include "kernels/grid.cuh"
#include "kernels/optimizer_device.h"

#include <cuda_runtime_api.h>

namespace ddl::kernels {
namespace {

__global__ void sgd_kernel(float* weights, float* velocity, const float* gradient, std::size_t n,
                           SgdCoefficients c) {
  for (std::size_t i = grid_first(); i < n; i += grid_stride()) {
    if (velocity == nullptr) {
      sgd_plain_element(weights[i], gradient[i], c);
    } else {
      sgd_momentum_element(weights[i], velocity[i], gradient[i], c);
    }
  }
}

__global__ void adamw_kernel(float* weights, float* first, float* second, const float* gradient,
                             std::size_t n, AdamwCoefficients c) {
  for (std::size_t i = grid_first(); i < n; i += grid_stride())
    adamw_element(weights[i], first[i], second[i], gradient[i], c);
}

}  // namespace

int launch_sgd_update(float* weights, float* velocity, const float* gradient, std::size_t n,
                      const SgdCoefficients& coefficients, CUstream_st* stream) {
  if (n == 0) return cudaSuccess;
  sgd_kernel<<<grid_blocks(n), kThreadsPerBlock, 0, stream>>>(weights, velocity, gradient, n,
                                                              coefficients);
  return cudaGetLastError();
}

int launch_adamw_update(float* weights, float* first, float* second, const float* gradient,
                        std::size_t n, const AdamwCoefficients& coefficients, CUstream_st* stream) {
  if (n == 0) return cudaSuccess;
  adamw_kernel<<<grid_blocks(n), kThreadsPerBlock, 0, stream>>>(weights, first, second, gradient, n,
                                                                coefficients);
  return cudaGetLastError();
}

}  // namespace ddl::kernels
