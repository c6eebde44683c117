// Random numbers keyed by what they belong to, never by who runs them: Philox-4x32-10
// (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) from Random123.
//
// A stream is named by (seed, purpose, a, b, c), e.g. (seed, "dropout", step, sample, op). The same
// name gives the same numbers on every machine, rank and thread. 2^32 blocks of 4 words a stream.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace ddl {

class Random {
 public:
  Random(std::uint64_t seed, std::string_view purpose, std::uint64_t a = 0, std::uint64_t b = 0,
         std::uint64_t c = 0);

  std::uint32_t next_u32();
  std::uint64_t next_u64();
  double uniform();                          // [0, 1), 53 bits
  std::uint64_t below(std::uint64_t bound);  // [0, bound), unbiased; bound > 0
  double normal();                           // mean 0, variance 1 (Box-Muller, one value per call)

 private:
  void refill();
  std::array<std::uint32_t, 2> key_{};
  std::array<std::uint32_t, 4> counter_{};
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
};

// The generator itself: ten rounds of Philox-4x32 on one counter under one key.
std::array<std::uint32_t, 4> philox_block(const std::array<std::uint32_t, 4>& counter,
                                          const std::array<std::uint32_t, 2>& key);

// A permutation of 0..count-1 by Fisher-Yates with the given stream.
std::vector<std::uint32_t> random_permutation(std::uint32_t count, Random random);

}  // namespace ddl
