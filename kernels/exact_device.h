// Launchers of the exact reduction's arithmetic on a GPU. Pointers are device memory; calls return
// at once and run in order on the stream. Compiled only where nvcc is.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

namespace ddl::kernels {

// *largest = largest magnitude's bits, as largest_magnitude_bits in exact.h.
cudaError_t largest_magnitude_bits_device(const float* values, std::size_t count,
                                          std::uint32_t* largest, cudaStream_t stream);
// sums[i] += k_i; the same integers as on the host.
cudaError_t quantise_add_device(const float* values, std::size_t count, int exponent,
                                std::int64_t* sums, cudaStream_t stream);

}  // namespace ddl::kernels
