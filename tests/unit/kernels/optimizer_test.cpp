// Optimizer updates of one element against their formulas in double, over many steps.
#include "kernels/optimizer.h"

#include "unit/kernels/bit_patterns.h"
#include <gtest/gtest.h>

namespace ddl::kernels {
namespace {

using namespace test;

TEST(Sgd, FollowsTheFormula) {
  Random random(1, "sgd");
  for (int trial = 0; trial < 300; ++trial) {
    const SgdCoefficients c{static_cast<float>(0.2 * random.uniform()),
                            static_cast<float>(0.99 * random.uniform()),
                            static_cast<float>(0.1 * random.uniform()), trial % 2 == 1};
    float weight = static_cast<float>(random.normal()), velocity = 0;
    double w = static_cast<double>(weight), v = 0;
    for (int step = 0; step < 20; ++step) {
      const float gradient = static_cast<float>(random.normal());
      sgd_momentum_element(weight, velocity, gradient, c);
      const double s = static_cast<double>(gradient) + static_cast<double>(c.weight_decay) * w;
      v = static_cast<double>(c.momentum) * v + s;
      const double direction = c.nesterov ? s + static_cast<double>(c.momentum) * v : v;
      w -= static_cast<double>(c.learning_rate) * direction;
      ASSERT_NEAR(static_cast<double>(velocity), v, 2e-5 * (1 + std::fabs(v)));
      ASSERT_NEAR(static_cast<double>(weight), w, 2e-5 * (1 + std::fabs(w)));
    }
  }
}

TEST(Sgd, WithoutMomentumIsTheMomentumFormOfZero) {
  Random random(2, "plain");
  for (int trial = 0; trial < 1000; ++trial) {
    const SgdCoefficients c{static_cast<float>(random.uniform()), 0.0F,
                            static_cast<float>(random.uniform()), false};
    float plain = static_cast<float>(random.normal()), weight = plain, velocity = 0;
    const float gradient = static_cast<float>(random.normal());
    sgd_plain_element(plain, gradient, c);
    sgd_momentum_element(weight, velocity, gradient, c);
    ASSERT_EQ(plain, weight);
  }
}

TEST(Adamw, FollowsTheFormula) {
  Random random(3, "adamw");
  for (int trial = 0; trial < 300; ++trial) {
    AdamwCoefficients c;
    c.learning_rate = static_cast<float>(0.1 * random.uniform());
    c.weight_decay = static_cast<float>(0.1 * random.uniform());
    c.epsilon = trial % 2 == 0 ? 1e-8F : 1e-3F;
    const double b1 = static_cast<double>(c.beta1), b2 = static_cast<double>(c.beta2);
    float weight = static_cast<float>(random.normal()), first = 0, second = 0;
    double w = static_cast<double>(weight), m = 0, v = 0;
    for (int step = 1; step <= 20; ++step) {
      c.correction1 = static_cast<float>(1 - std::pow(b1, step));
      c.correction2 = static_cast<float>(1 - std::pow(b2, step));
      const float gradient = static_cast<float>(random.normal());
      adamw_element(weight, first, second, gradient, c);
      const double g = static_cast<double>(gradient);
      m = b1 * m + (1 - b1) * g;
      v = b2 * v + (1 - b2) * g * g;
      w -= static_cast<double>(c.learning_rate) * static_cast<double>(c.weight_decay) * w;
      w -= static_cast<double>(c.learning_rate) * (m / (1 - std::pow(b1, step))) /
           (std::sqrt(v / (1 - std::pow(b2, step))) + static_cast<double>(c.epsilon));
      ASSERT_NEAR(static_cast<double>(first), m, 1e-5 * (1 + std::fabs(m)));
      ASSERT_NEAR(static_cast<double>(second), v, 1e-5 * (1 + v));
      ASSERT_NEAR(static_cast<double>(weight), w, 1e-4 * (1 + std::fabs(w)));
    }
  }
}

// The order of operations is part of a run's bits: a product must not be fused with a sum.
TEST(Sgd, OperationsStayApart) {
  const SgdCoefficients c{0x1.000002p0F, 0.0F, 0.0F, false};
  float weight = 0x1.000004p0F;
  sgd_plain_element(weight, 0x1.000002p0F, c);
  // (1 + 2^-23)^2 rounds to 1 + 2^-22: apart they cancel, fused 2^-46 would stay.
  EXPECT_EQ(weight, 0.0F);
}

}  // namespace
}  // namespace ddl::kernels
