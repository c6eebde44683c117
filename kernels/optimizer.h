// Optimizer updates of one element, in single precision with one order of operations.
//
//   SGD    s = g + decay w;  v = momentum v + s;  w -= rate (s + momentum v  or  v)
//          (PyTorch's, no dampening; the first with Nesterov; without momentum w -= rate s)
//   AdamW  m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2
//          w = (w - rate decay w) - rate (m / c1) / (sqrt(v / c2) + epsilon),  ci = 1 - bi^t
//          (Loshchilov and Hutter, ICLR 2019)
#pragma once

#include "kernels/portable.h"

#ifndef __CUDACC__
#include <cmath>
#endif

namespace ddl::kernels {

struct SgdCoefficients {
  float learning_rate = 0;
  float momentum = 0;
  float weight_decay = 0;
  bool nesterov = false;
};

struct AdamwCoefficients {
  float learning_rate = 0;
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float epsilon = 1e-8F;
  float weight_decay = 0;
  float correction1 = 1;  // 1 - beta1^t, t = 1 at the first update
  float correction2 = 1;  // 1 - beta2^t
};

// Correctly rounded on both sides.
DDL_HOST_DEVICE inline float square_root(float value) {
#ifdef __CUDA_ARCH__
  return __fsqrt_rn(value);
#elif defined(__CUDACC__)
  return __builtin_sqrtf(value);
#else
  return std::sqrt(value);
#endif
}

DDL_HOST_DEVICE inline void sgd_plain_element(float& weight, float gradient,
                                              const SgdCoefficients& c) {
  const float step = gradient + c.weight_decay * weight;
  weight = weight - c.learning_rate * step;
}

DDL_HOST_DEVICE inline void sgd_momentum_element(float& weight, float& velocity, float gradient,
                                                 const SgdCoefficients& c) {
  const float step = gradient + c.weight_decay * weight;
  velocity = c.momentum * velocity + step;
  const float direction = c.nesterov ? step + c.momentum * velocity : velocity;
  weight = weight - c.learning_rate * direction;
}

DDL_HOST_DEVICE inline void adamw_element(float& weight, float& first, float& second,
                                          float gradient, const AdamwCoefficients& c) {
  first = c.beta1 * first + (1.0F - c.beta1) * gradient;
  second = c.beta2 * second + (1.0F - c.beta2) * gradient * gradient;
  const float decayed = weight - c.learning_rate * c.weight_decay * weight;
  weight = decayed - c.learning_rate * (first / c.correction1) /
                         (square_root(second / c.correction2) + c.epsilon);
}

}  // namespace ddl::kernels
