// Optimizer updates of one element, each written once for host and device. The order of operations
// is part of a run's bits: none of them may be contracted to a fused multiply-add.
#pragma once

#include "kernels/portable.h"

#include <cmath>

namespace ddl::kernels {

// SGD with momentum as Sutskever et al. (ICML 2013) in the form PyTorch uses:
//   v = momentum * v + (g + decay * w);  w = w - rate * v
struct SgdStep {
  float learning_rate, momentum, decay;
};
DDL_HOST_DEVICE inline void sgd_update(const SgdStep& step, float gradient, float& velocity,
                                       float& weight) {
  velocity = step.momentum * velocity + (gradient + step.decay * weight);
  weight = weight - step.learning_rate * velocity;
}
// Without momentum there is no velocity to keep.
DDL_HOST_DEVICE inline void plain_sgd_update(const SgdStep& step, float gradient, float& weight) {
  weight = weight - step.learning_rate * (gradient + step.decay * weight);
}

// AdamW (Loshchilov and Hutter, ICLR 2019): decay is decoupled from the gradient.
// correction1 = 1 - beta1^t, correction2 = 1 - beta2^t for the t-th update, counted from 1.
struct AdamwStep {
  float learning_rate, beta1, beta2, epsilon, decay, correction1, correction2;
};
DDL_HOST_DEVICE inline void adamw_update(const AdamwStep& step, float gradient, float& m, float& v,
                                         float& weight) {
  m = step.beta1 * m + (1.0F - step.beta1) * gradient;
  v = step.beta2 * v + (1.0F - step.beta2) * gradient * gradient;
  const float decayed = weight - step.learning_rate * step.decay * weight;
  weight = decayed - step.learning_rate * (m / step.correction1) /
                         (sqrtf(v / step.correction2) + step.epsilon);
}

}  // namespace ddl::kernels
