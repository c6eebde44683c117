// Which sample goes to which split: a pure function of (seed, sample keys, classes), decided before
// anything is shuffled or repeated.
//
// Stratified (classes): each class gives its exact share, rounded by largest remainder so that the
// totals are exact too; a class keeps at least one sample in train, so a class of one stays there.
// Within a class (or the whole, without classes) samples are ranked by a random number named by
// (seed, "split", sample key): adding samples elsewhere moves no one's rank.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace ddl {

inline constexpr std::int8_t kTrain = 0, kVal = 1, kTest = 2;
inline constexpr const char* kSplitNames[] = {"train", "val", "test"};

struct SplitFractions {
  double val = 0, test = 0;
};

// Throws bad_input unless both are at least 0 and together below 1.
void check_fractions(const SplitFractions& fractions);

// labels: class per sample, or empty.
std::vector<std::int8_t> cut_splits(std::int64_t samples, std::span<const std::int32_t> labels,
                                    const SplitFractions& fractions, std::uint64_t seed,
                                    const std::function<std::uint64_t(std::int64_t)>& sample_key);

}  // namespace ddl
