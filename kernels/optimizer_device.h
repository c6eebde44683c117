// Optimizer updates on a GPU, with the bits of the host. Pointers are device memory; calls return
// at once, run in order on the stream, and give a cudaError_t as int (0: launched). Compiled only
// where nvcc is. No CUDA header is needed to include this one.
#pragma once

#include "kernels/optimizer.h"

#include <cstddef>

struct CUstream_st;  // *: cudaStream_t

namespace ddl::kernels {

// velocity may be null when the momentum is 0.
int launch_sgd_update(float* weights, float* velocity, const float* gradient, std::size_t n,
                      const SgdCoefficients& coefficients, CUstream_st* stream);
int launch_adamw_update(float* weights, float* first, float* second, const float* gradient,
                        std::size_t n, const AdamwCoefficients& coefficients, CUstream_st* stream);

}  // namespace ddl::kernels
