// Loops over contiguous slices on the host, of the element functions in exact.h and optimizer.h.
// Each exists in plain code and for wider vectors, chosen by what the processor has: the bits are
// the same in every version, so the choice is no part of the numerics.
//
// Threads: pure functions; slices that are written must not meet.
#pragma once

#include "kernels/optimizer.h"

#include <cstddef>
#include <cstdint>

namespace ddl::kernels {

enum class LoopVersion { best, plain, avx2, avx512 };  // best: the widest available
bool loop_version_available(LoopVersion version);
// The name of what `best` stands for here: "plain", "avx2", "avx512".
const char* best_loop_version();

// The largest absolute_bits of n values; at least kInfinityBits when one is Inf or NaN. 0 for n =
// 0.
std::uint32_t max_absolute_bits(const float* values, std::size_t n,
                                LoopVersion version = LoopVersion::best);

// sums[i] = or += quantise(values[i], exponent). largest: max_absolute_bits of a slice that holds
// these values, all finite and within the limit.
void quantise_store(const float* values, std::size_t n, int exponent, std::uint32_t largest,
                    std::int64_t* sums, LoopVersion version = LoopVersion::best);
void quantise_add(const float* values, std::size_t n, int exponent, std::uint32_t largest,
                  std::int64_t* sums, LoopVersion version = LoopVersion::best);

// out[i] = float(double(sums[i]) * quantum * scale), or with `second` (may be null)
// float((double(sums[i]) * quantum + double(second[i]) * second_quantum) * scale).
void sums_to_floats(const std::int64_t* sums, double quantum, const std::int64_t* second,
                    double second_quantum, double scale, std::size_t n, float* out,
                    LoopVersion version = LoopVersion::best);

// velocity may be null when the momentum is 0.
void sgd_update(float* weights, float* velocity, const float* gradient, std::size_t n,
                const SgdCoefficients& coefficients, LoopVersion version = LoopVersion::best);
void adamw_update(float* weights, float* first, float* second, const float* gradient, std::size_t n,
                  const AdamwCoefficients& coefficients, LoopVersion version = LoopVersion::best);

}  // namespace ddl::kernels
