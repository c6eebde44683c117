#include "ddl/compute/cpu/loops.h"

#include "kernels/math.h"

#include <cmath>

namespace ddl::cpu {

// An operand under the result is met element on element: no loop carries anything.
#define DDL_INDEPENDENT _Pragma("GCC ivdep")

DDL_VECTOR_CLONES void relu(std::size_t count, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = x[i] < 0.0F ? 0.0F : x[i];  // NaN stays
}
DDL_VECTOR_CLONES void tanh_all(std::size_t count, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = kernels::tanh_f32(x[i]);
}
DDL_VECTOR_CLONES void sigmoid(std::size_t count, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = kernels::sigmoid_f32(x[i]);
}
DDL_VECTOR_CLONES void gelu(std::size_t count, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = kernels::gelu_f32(x[i]);
}
DDL_VECTOR_CLONES void gelu_tanh(std::size_t count, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = kernels::gelu_tanh_f32(x[i]);
}
DDL_VECTOR_CLONES void erf_all(std::size_t count, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = kernels::erf_f32(x[i]);
}
DDL_VECTOR_CLONES void exp_all(std::size_t count, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = kernels::exp_f32(x[i]);
}
DDL_VECTOR_CLONES void log_all(std::size_t count, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = kernels::log_f32(x[i]);
}
DDL_VECTOR_CLONES void sqrt_all(std::size_t count, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = std::sqrt(x[i]);
}
DDL_VECTOR_CLONES void negate(std::size_t count, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = -x[i];
}
DDL_VECTOR_CLONES void reciprocal(std::size_t count, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = 1.0F / x[i];
}

DDL_VECTOR_CLONES void relu_slope(std::size_t count, const float* dy, const float* y, float* dx) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) dx[i] = y[i] > 0.0F ? dy[i] : 0.0F;
}
DDL_VECTOR_CLONES void tanh_slope(std::size_t count, const float* dy, const float* y, float* dx) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) dx[i] = dy[i] * (1.0F - y[i] * y[i]);
}
DDL_VECTOR_CLONES void sigmoid_slope(std::size_t count, const float* dy, const float* y,
                                     float* dx) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) dx[i] = dy[i] * (y[i] * (1.0F - y[i]));
}
DDL_VECTOR_CLONES void gelu_slope(std::size_t count, const float* dy, const float* x, float* dx) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) dx[i] = dy[i] * kernels::gelu_slope_f32(x[i]);
}
DDL_VECTOR_CLONES void gelu_tanh_slope(std::size_t count, const float* dy, const float* x,
                                       float* dx) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) dx[i] = dy[i] * kernels::gelu_tanh_slope_f32(x[i]);
}

namespace {

// The usual strides get loops of their own; `op` is inlined into the caller's clone.
template <class Op>
inline __attribute__((always_inline)) void binary(std::size_t count, const float* a,
                                                  std::size_t step_a, const float* b,
                                                  std::size_t step_b, float* y, Op op) {
  if (step_a == 1 && step_b == 1) {
    DDL_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) y[i] = op(a[i], b[i]);
  } else if (step_a == 1 && step_b == 0) {
    const float right = *b;
    DDL_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) y[i] = op(a[i], right);
  } else if (step_a == 0 && step_b == 1) {
    const float left = *a;
    DDL_INDEPENDENT
    for (std::size_t i = 0; i < count; ++i) y[i] = op(left, b[i]);
  } else {
    for (std::size_t i = 0; i < count; ++i) y[i] = op(a[i * step_a], b[i * step_b]);
  }
}

}  // namespace

DDL_VECTOR_CLONES void add(std::size_t count, const float* a, std::size_t step_a, const float* b,
                           std::size_t step_b, float* y) {
  binary(count, a, step_a, b, step_b, y, [](float left, float right) { return left + right; });
}
DDL_VECTOR_CLONES void subtract(std::size_t count, const float* a, std::size_t step_a,
                                const float* b, std::size_t step_b, float* y) {
  binary(count, a, step_a, b, step_b, y, [](float left, float right) { return left - right; });
}
DDL_VECTOR_CLONES void multiply(std::size_t count, const float* a, std::size_t step_a,
                                const float* b, std::size_t step_b, float* y) {
  binary(count, a, step_a, b, step_b, y, [](float left, float right) { return left * right; });
}
DDL_VECTOR_CLONES void divide(std::size_t count, const float* a, std::size_t step_a, const float* b,
                              std::size_t step_b, float* y) {
  binary(count, a, step_a, b, step_b, y, [](float left, float right) { return left / right; });
}

DDL_VECTOR_CLONES void scale(std::size_t count, float factor, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = factor * x[i];
}
DDL_VECTOR_CLONES void divide_by(std::size_t count, float divisor, const float* x, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = x[i] / divisor;
}
DDL_VECTOR_CLONES void add_scaled(std::size_t count, const float* a, float factor, const float* b,
                                  std::size_t step_b, float* y) {
  binary(count, a, 1, b, step_b, y,
         [factor](float left, float right) { return left + factor * right; });
}
DDL_VECTOR_CLONES void masked(std::size_t count, const float* x, const std::uint8_t* mask,
                              float factor, float* y) {
  DDL_INDEPENDENT
  for (std::size_t i = 0; i < count; ++i) y[i] = mask[i] != 0 ? x[i] * factor : 0.0F;
}

}  // namespace ddl::cpu
