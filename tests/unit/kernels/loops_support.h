// Random floats over all magnitudes, and the loop versions that this processor has.
#pragma once

#include "kernels/host_loops.h"

#include <cstdint>
#include <random>
#include <vector>

namespace ddl::kernels {

inline std::vector<LoopVersion> available_versions() {
  std::vector<LoopVersion> versions;
  for (const LoopVersion version :
       {LoopVersion::best, LoopVersion::plain, LoopVersion::avx2, LoopVersion::avx512}) {
    if (loop_version_available(version)) versions.push_back(version);
  }
  return versions;
}

// Random bits as floats below 2^highest in magnitude, with zeros and denormals among them.
inline std::vector<float> random_floats(std::size_t n, int highest, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto limit = static_cast<std::uint32_t>(highest + 127) << 23;
  std::vector<float> values(n);
  for (float& value : values) {
    std::uint32_t bits = static_cast<std::uint32_t>(random()) % limit;
    const std::uint64_t kind = random() % 16;
    if (kind == 0) bits = 0;
    if (kind == 1) bits &= 0x7fffffU;
    // Most within 40 bits of the bound, where quanta are.
    if (kind > 4 && limit > (40U << 23)) bits = limit - 1 - bits % (40U << 23);
    value = same_bits<float>(bits | static_cast<std::uint32_t>(random() & 0x80000000U));
  }
  return values;
}

inline std::vector<std::uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(same_bits<std::uint32_t>(value));
  return bits;
}

// Around the widths of vectors and of nothing.
inline const std::vector<std::size_t> kLengths = {0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 64, 1003};

}  // namespace ddl::kernels
