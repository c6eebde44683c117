// The hand-written functions and loops: their accuracy, and that vectors of any width give the bits
// of a plain loop.
#include "kernels/math.h"

#include "ddl/base/random.h"
#include "ddl/compute/cpu/loops.h"
#include "ddl/compute/cpu/row_loops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace ddl::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double units_in_last_place(float got, double want) {
  const auto nearest = static_cast<float>(want);
  const double unit =
      static_cast<double>(std::nextafter(std::abs(nearest), kInfinity)) - std::abs(nearest);
  return std::abs(static_cast<double>(got) - want) / unit;
}

template <class Function, class Reference>
double worst_error(Function function, Reference reference, double low, double high) {
  double worst = 0;
  for (int i = 0; i <= 200000; ++i) {
    const auto x = static_cast<float>(low + (high - low) * i / 200000);
    worst = std::max(worst, units_in_last_place(function(x), reference(static_cast<double>(x))));
  }
  return worst;
}

TEST(Math, StaysWithinAFewUnits) {
  const auto exp = [](double x) { return std::exp(x); };
  const auto log = [](double x) { return std::log(x); };
  const auto tanh = [](double x) { return std::tanh(x); };
  const auto erf = [](double x) { return std::erf(x); };
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  EXPECT_LT(worst_error(kernels::exp_f32, exp, -87, 88.7), 3);
  EXPECT_LT(worst_error(kernels::log_f32, log, 1e-6, 10), 4);
  EXPECT_LT(worst_error(kernels::log_f32, log, 10, 1e30), 2);
  EXPECT_LT(worst_error(kernels::tanh_f32, tanh, -12, 12), 5);
  EXPECT_LT(worst_error(kernels::tanh_f32, tanh, -1e-3, 1e-3), 2);
  EXPECT_LT(worst_error(kernels::erf_f32, erf, -5, 5), 6);
  EXPECT_LT(worst_error(kernels::sigmoid_f32, sigmoid, -20, 20), 4);
}

TEST(Math, KnowsTheEnds) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(kernels::exp_f32(0), 1);
  EXPECT_EQ(kernels::exp_f32(100), kInfinity);
  EXPECT_EQ(kernels::exp_f32(kInfinity), kInfinity);
  EXPECT_EQ(kernels::exp_f32(-100), 0);
  EXPECT_EQ(kernels::exp_f32(-kInfinity), 0);
  EXPECT_EQ(kernels::log_f32(1), 0);
  EXPECT_EQ(kernels::log_f32(0), -kInfinity);
  EXPECT_EQ(kernels::log_f32(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(kernels::log_f32(-1)));
  EXPECT_EQ(kernels::tanh_f32(kInfinity), 1);
  EXPECT_EQ(kernels::tanh_f32(-50), -1);
  EXPECT_EQ(kernels::erf_f32(kInfinity), 1);
  EXPECT_EQ(kernels::erf_f32(-kInfinity), -1);
  EXPECT_EQ(kernels::sigmoid_f32(-kInfinity), 0);
  EXPECT_EQ(kernels::sigmoid_f32(kInfinity), 1);
  for (const auto function : {kernels::exp_f32, kernels::log_f32, kernels::tanh_f32,
                              kernels::erf_f32, kernels::sigmoid_f32, kernels::gelu_f32}) {
    EXPECT_TRUE(std::isnan(function(nan)));
  }
}

std::vector<float> values(std::size_t count) {
  Random random(7, "math");
  std::vector<float> result(count);
  for (float& value : result) value = static_cast<float>(3 * random.normal());
  return result;
}

TEST(Loops, GiveTheBitsOfAPlainLoop) {
  const std::pair<cpu::Unary, float (*)(float)> functions[] = {
      {cpu::exp_all, kernels::exp_f32},     {cpu::tanh_all, kernels::tanh_f32},
      {cpu::erf_all, kernels::erf_f32},     {cpu::gelu, kernels::gelu_f32},
      {cpu::sigmoid, kernels::sigmoid_f32}, {cpu::gelu_tanh, kernels::gelu_tanh_f32},
      {cpu::log_all, kernels::log_f32}};
  for (const std::size_t count : {1U, 15U, 16U, 1021U}) {
    const std::vector<float> x = values(count);
    for (const auto& [loop, function] : functions) {
      std::vector<float> y(count), in_place = x;
      loop(count, x.data(), y.data());
      loop(count, in_place.data(), in_place.data());
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(function(x[i])));
        EXPECT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(in_place[i]));
      }
    }
  }
}

TEST(Loops, SumInTheirDocumentedOrder) {
  for (const std::size_t count : {0U, 1U, 7U, 16U, 17U, 1000U}) {
    const std::vector<float> x = values(count);
    volatile float lanes[cpu::kSumLanes] = {};
    for (std::size_t i = 0; i < count; ++i) {
      lanes[i % cpu::kSumLanes] = lanes[i % cpu::kSumLanes] + x[i];
    }
    for (std::size_t half = cpu::kSumLanes / 2; half > 0; half /= 2) {
      for (std::size_t lane = 0; lane < half; ++lane)
        lanes[lane] = lanes[lane] + lanes[lane + half];
    }
    EXPECT_EQ(cpu::sum(count, x.data()), lanes[0]) << count;
  }
}

TEST(Loops, FindTheLargest) {
  for (const std::size_t count : {1U, 5U, 16U, 33U}) {
    std::vector<float> x = values(count);
    EXPECT_EQ(cpu::largest(count, x.data()), *std::max_element(x.begin(), x.end()));
    x.back() = 1e6F;
    EXPECT_EQ(cpu::largest(count, x.data()), 1e6F);
  }
}

}  // namespace
}  // namespace ddl::test
