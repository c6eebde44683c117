// The loops in every version this processor has, against the element functions.
#include "kernels/host_loops.h"

#include "kernels/exact.h"

#include <algorithm>
#include <cfenv>
#include <string>

#include "unit/kernels/bit_patterns.h"
#include <gtest/gtest.h>

namespace ddl::kernels {
namespace {

using namespace test;

class HostLoops : public testing::TestWithParam<LoopVersion> {
 protected:
  void SetUp() override {
    if (!loop_version_available(GetParam())) GTEST_SKIP() << "this processor lacks it";
  }
};

std::vector<float> values_below(std::size_t size, int exponent, int octaves, Random& random) {
  std::vector<float> values(size);
  for (float& value : values)
    value = random.below(20) == 0 ? 0.0F : below_power(exponent, octaves, random);
  return values;
}

TEST_P(HostLoops, MaxAbsoluteBits) {
  Random random(1, "max");
  for (const std::size_t size : odd_sizes()) {
    std::vector<float> values = values_below(size, 60, 200, random);
    std::uint32_t expected = 0;
    for (const float value : values) expected = std::max(expected, absolute_bits(value));
    EXPECT_EQ(max_absolute_bits(values.data(), size, GetParam()), expected) << size;
    if (size == 0) continue;
    // Wherever it is.
    for (int trial = 0; trial < 10; ++trial) {
      std::vector<float> changed = values;
      const float top = trial % 2 == 0 ? -0x1p90F : 0x1.8p90F;
      changed[random.below(size)] = top;
      EXPECT_EQ(max_absolute_bits(changed.data(), size, GetParam()), absolute_bits(top));
      changed[random.below(size)] = std::numeric_limits<float>::infinity();
      EXPECT_EQ(max_absolute_bits(changed.data(), size, GetParam()), kInfinityBits);
      changed[random.below(size)] = -std::numeric_limits<float>::quiet_NaN();
      EXPECT_GT(max_absolute_bits(changed.data(), size, GetParam()), kInfinityBits);
    }
  }
}

// Small values take the short way, values over 2^50 quanta the one by bits.
TEST_P(HostLoops, QuantiseStoresAndAdds) {
  Random random(2, "quantise");
  for (const std::size_t size : odd_sizes()) {
    for (const int exponent : {-148, -126, -20, 0, 90, 128}) {
      for (const int over : {-30, 0, 9, 10, 11, 22}) {
        const int top = std::min(exponent + over, 127);
        const std::vector<float> values = values_below(size, top, 100, random);
        const std::uint32_t largest = max_absolute_bits(values.data(), size);
        std::vector<std::int64_t> before(size);
        for (std::int64_t& sum : before) sum = static_cast<std::int64_t>(random.next_u64()) >> 3;
        std::vector<std::int64_t> stored(size, -1), added = before;
        quantise_store(values.data(), size, exponent, largest, stored.data(), GetParam());
        quantise_add(values.data(), size, exponent, largest, added.data(), GetParam());
        for (std::size_t i = 0; i < size; ++i) {
          ASSERT_EQ(stored[i], quantise(values[i], exponent)) << values[i] << ", " << exponent;
          ASSERT_EQ(added[i], before[i] + quantise(values[i], exponent));
        }
      }
    }
  }
}

// A caller's rounding mode must not reach the integers.
TEST_P(HostLoops, QuantiseInAnyRoundingMode) {
  Random random(3, "modes");
  const std::vector<float> values = values_below(1000, 0, 50, random);
  const std::uint32_t largest = max_absolute_bits(values.data(), values.size());
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::vector<std::int64_t> stored(values.size());
    ASSERT_EQ(std::fesetround(mode), 0);
    quantise_store(values.data(), values.size(), 0, largest, stored.data(), GetParam());
    std::fesetround(FE_TONEAREST);
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(stored[i], quantise(values[i], 0)) << values[i];
  }
}

TEST_P(HostLoops, SumsToFloats) {
  Random random(4, "floats");
  for (const std::size_t size : odd_sizes()) {
    std::vector<std::int64_t> sums(size), second(size);
    for (std::size_t i = 0; i < size; ++i) {
      sums[i] = static_cast<std::int64_t>(random.next_u64()) >> (2 + random.below(60));
      second[i] = static_cast<std::int64_t>(random.next_u64()) >> (2 + random.below(60));
    }
    const double quantum = power_of_two(static_cast<int>(random.below(100)) - 80);
    const double scale = random.normal();
    std::vector<float> plain(size), both(size);
    sums_to_floats(sums.data(), quantum, nullptr, quantum * 0x1p24, scale, size, plain.data(),
                   GetParam());
    sums_to_floats(sums.data(), quantum, second.data(), quantum * 0x1p24, scale, size, both.data(),
                   GetParam());
    for (std::size_t i = 0; i < size; ++i) {
      const double first = static_cast<double>(sums[i]) * quantum;
      ASSERT_EQ(std::bit_cast<std::uint32_t>(plain[i]),
                std::bit_cast<std::uint32_t>(static_cast<float>(first * scale)));
      const double sum = first + static_cast<double>(second[i]) * (quantum * 0x1p24);
      ASSERT_EQ(std::bit_cast<std::uint32_t>(both[i]),
                std::bit_cast<std::uint32_t>(static_cast<float>(sum * scale)));
    }
  }
}

TEST_P(HostLoops, SgdUpdate) {
  Random random(5, "sgd");
  for (const std::size_t size : odd_sizes()) {
    for (const bool nesterov : {false, true}) {
      const SgdCoefficients c{0.1F, 0.9F, 1e-4F, nesterov};
      std::vector<float> weights = values_below(size, 2, 20, random), plain = weights;
      std::vector<float> velocity = values_below(size, -3, 20, random);
      const std::vector<float> gradient = values_below(size, -2, 20, random);
      std::vector<float> expected = weights, expected_plain = weights;
      std::vector<float> expected_velocity = velocity;
      sgd_update(weights.data(), velocity.data(), gradient.data(), size, c, GetParam());
      sgd_update(plain.data(), nullptr, gradient.data(), size, c, GetParam());
      for (std::size_t i = 0; i < size; ++i) {
        sgd_momentum_element(expected[i], expected_velocity[i], gradient[i], c);
        sgd_plain_element(expected_plain[i], gradient[i], c);
      }
      EXPECT_EQ(weights, expected) << size;
      EXPECT_EQ(velocity, expected_velocity) << size;
      EXPECT_EQ(plain, expected_plain) << size;
    }
  }
}

TEST_P(HostLoops, AdamwUpdate) {
  Random random(6, "adamw");
  for (const std::size_t size : odd_sizes()) {
    const AdamwCoefficients c{1e-3F, 0.9F, 0.999F, 1e-8F, 0.01F, 0.271F, 0.002997F};
    std::vector<float> weights = values_below(size, 2, 20, random);
    std::vector<float> first = values_below(size, -3, 20, random), second(size);
    for (float& value : second) value = std::fabs(below_power(-5, 30, random));
    const std::vector<float> gradient = values_below(size, -2, 40, random);
    std::vector<float> expected = weights, expected_first = first, expected_second = second;
    adamw_update(weights.data(), first.data(), second.data(), gradient.data(), size, c, GetParam());
    for (std::size_t i = 0; i < size; ++i)
      adamw_element(expected[i], expected_first[i], expected_second[i], gradient[i], c);
    EXPECT_EQ(weights, expected) << size;
    EXPECT_EQ(first, expected_first) << size;
    EXPECT_EQ(second, expected_second) << size;
  }
}

std::string version_name(const testing::TestParamInfo<LoopVersion>& info) {
  switch (info.param) {
    case LoopVersion::plain:
      return "plain";
    case LoopVersion::avx2:
      return "avx2";
    case LoopVersion::avx512:
      return "avx512";
    default:
      return "best";
  }
}

INSTANTIATE_TEST_SUITE_P(Versions, HostLoops,
                         testing::Values(LoopVersion::best, LoopVersion::plain, LoopVersion::avx2,
                                         LoopVersion::avx512),
                         version_name);

}  // namespace
}  // namespace ddl::kernels
