// A library built with -ffast-math may leave a thread flushing denormals to zero: no integer of the
// exact reduction may change with it.
#include "kernels/exact.h"
#include "kernels/host_loops.h"

#include "unit/kernels/bit_patterns.h"
#include <gtest/gtest.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ddl::kernels {
namespace {

#if defined(__x86_64__)
TEST(FlushToZero, ChangesNoInteger) {
  std::vector<float> values;
  for (std::uint32_t bits = 0; bits < 0x2000000U; bits += 4999) {
    values.push_back(same_bits<float>(bits));
    values.push_back(same_bits<float>(bits | 0x80000000U));
  }
  const unsigned kept = _mm_getcsr();
  for (const int exponent : {-148, -130, -122}) {
    for (const LoopVersion version : {LoopVersion::plain, LoopVersion::avx2, LoopVersion::avx512}) {
      if (!loop_version_available(version)) continue;
      std::vector<std::int64_t> expected, got(values.size());
      for (const float value : values) expected.push_back(quantise(value, exponent));
      _mm_setcsr(kept | 0x8040U);  // flush to zero, denormals are zero
      const std::uint32_t largest = max_absolute_bits(values.data(), values.size(), version);
      quantise_store(values.data(), values.size(), exponent, largest, got.data(), version);
      _mm_setcsr(kept);
      EXPECT_EQ(got, expected) << "exponent " << exponent;
    }
  }
}
#endif

}  // namespace
}  // namespace ddl::kernels
