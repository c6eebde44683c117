// Element-wise loops over contiguous memory. Each element is computed alone, with functions whose
// bits no processor changes (kernels/math.h): vectors of any width give the same result. The result
// may lie over an operand, element on element.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ddl::cpu {

// Widest vectors the processor has; sanitizers do not get along with resolvers that run before
// them.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define DDL_VECTOR_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DDL_VECTOR_CLONES
#endif

using Unary = void (*)(std::size_t count, const float* x, float* y);
// A gradient: dy and the forward op's input or output.
using Slope = void (*)(std::size_t count, const float* dy, const float* v, float* dx);
// Steps of 0 repeat one element.
using Binary = void (*)(std::size_t count, const float* a, std::size_t step_a, const float* b,
                        std::size_t step_b, float* y);

void relu(std::size_t count, const float* x, float* y);
void tanh_all(std::size_t count, const float* x, float* y);
void sigmoid(std::size_t count, const float* x, float* y);
void gelu(std::size_t count, const float* x, float* y);
void gelu_tanh(std::size_t count, const float* x, float* y);
void erf_all(std::size_t count, const float* x, float* y);
void exp_all(std::size_t count, const float* x, float* y);
void log_all(std::size_t count, const float* x, float* y);
void sqrt_all(std::size_t count, const float* x, float* y);
void negate(std::size_t count, const float* x, float* y);
void reciprocal(std::size_t count, const float* x, float* y);

void relu_slope(std::size_t count, const float* dy, const float* y, float* dx);
void tanh_slope(std::size_t count, const float* dy, const float* y, float* dx);
void sigmoid_slope(std::size_t count, const float* dy, const float* y, float* dx);
void gelu_slope(std::size_t count, const float* dy, const float* x, float* dx);
void gelu_tanh_slope(std::size_t count, const float* dy, const float* x, float* dx);

void add(std::size_t count, const float* a, std::size_t step_a, const float* b, std::size_t step_b,
         float* y);
void subtract(std::size_t count, const float* a, std::size_t step_a, const float* b,
              std::size_t step_b, float* y);
void multiply(std::size_t count, const float* a, std::size_t step_a, const float* b,
              std::size_t step_b, float* y);
void divide(std::size_t count, const float* a, std::size_t step_a, const float* b,
            std::size_t step_b, float* y);

void scale(std::size_t count, float factor, const float* x, float* y);  // y = factor * x
void divide_by(std::size_t count, float divisor, const float* x, float* y);
void add_scaled(std::size_t count, const float* a, float factor, const float* b, std::size_t step_b,
                float* y);  // y = a + factor * b
// y = x * mask / keep, as one multiplication by 1 / keep.
void masked(std::size_t count, const float* x, const std::uint8_t* mask, float factor, float* y);

}  // namespace ddl::cpu
