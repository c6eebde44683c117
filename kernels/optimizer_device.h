// Launchers of the optimizer updates on a GPU. Pointers are device memory; calls return at once and
// run in order on the stream. Compiled only where nvcc is.
#pragma once

#include "kernels/optimizer.h"

#include <cstddef>

#include <cuda_runtime_api.h>

namespace ddl::kernels {

cudaError_t sgd_update_device(const SgdStep& step, const float* gradient, std::size_t count,
                              float* velocity, float* weights, cudaStream_t stream);
cudaError_t adamw_update_device(const AdamwStep& step, const float* gradient, std::size_t count,
                                float* m, float* v, float* weights, cudaStream_t stream);

}  // namespace ddl::kernels
