// Loops over rows that sum or compare along them: softmax, layer norm, losses, reductions.
//
// A sum over a row keeps kSumLanes partial sums, element i in lane i mod kSumLanes, and adds them
// pairwise at the end: one order on every processor, whatever its vectors. Sums over rows run in
// row order.
#pragma once

#include <cstddef>

namespace ddl::cpu {

inline constexpr std::size_t kSumLanes = 16;

float sum(std::size_t count, const float* x);
float largest(std::size_t count, const float* x);

// y = softmax(x) per row of `width`; returns nothing. May lie over x.
void softmax_rows(std::size_t rows, std::size_t width, const float* x, float* y);
// The same along an axis whose elements lie `inner` apart.
void softmax_strided(std::size_t outer, std::size_t width, std::size_t inner, const float* x,
                     float* y);
// dx = y * (dy - sum(dy * y))
void softmax_slope_rows(std::size_t rows, std::size_t width, const float* dy, const float* y,
                        float* dx);
void softmax_slope_strided(std::size_t outer, std::size_t width, std::size_t inner, const float* dy,
                           const float* y, float* dx);

// mean and inverse_deviation: one per row, may be nullptr; bias may be nullptr.
void layer_norm(std::size_t rows, std::size_t width, float epsilon, const float* x,
                const float* weight, const float* bias, float* y, float* mean,
                float* inverse_deviation);
// dweight and dbias may be nullptr.
void layer_norm_slope(std::size_t rows, std::size_t width, const float* x, const float* dy,
                      const float* weight, const float* mean, const float* inverse_deviation,
                      float* dx, float* dweight, float* dbias);

// log(sum(exp(x))) of one row.
float log_sum_exp(std::size_t count, const float* x);
// One row of a cross-entropy gradient: factor * (softmax(x) - one at `label`).
void cross_entropy_slope(std::size_t count, const float* x, std::size_t label, float factor,
                         float* dx);
// sum of max(x, 0) - x t + log(1 + exp(-|x|))
float sigmoid_cross_entropy(std::size_t count, const float* x, const float* target);
void sigmoid_cross_entropy_slope(std::size_t count, const float* x, const float* target,
                                 float factor, float* dx);
float squared_error(std::size_t count, const float* x, const float* target);
void squared_error_slope(std::size_t count, const float* x, const float* target, float factor,
                         float* dx);

void accumulate(std::size_t count, const float* x, float* total);  // total += x

}  // namespace ddl::cpu
