#include "ddl/data/splits.h"

#include "ddl/base/error.h"
#include "ddl/base/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace ddl {
namespace {

// How many of each group's members go, `room` bounding each: shares rounded by largest remainder.
std::vector<std::int64_t> quotas(const std::vector<std::int64_t>& sizes,
                                 const std::vector<std::int64_t>& room, double fraction) {
  const std::int64_t total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  std::vector<std::int64_t> out(sizes.size());
  std::vector<std::pair<double, std::size_t>> remainders;
  std::int64_t left = std::llround(static_cast<double>(total) * fraction);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double share = static_cast<double>(sizes[i]) * fraction;
    out[i] = std::min(static_cast<std::int64_t>(share), room[i]);
    left -= out[i];
    remainders.emplace_back(-(share - std::floor(share)), i);
  }
  std::sort(remainders.begin(), remainders.end());
  for (const auto& [negative, i] : remainders) {
    if (left <= 0) break;
    if (out[i] >= room[i] || negative == 0) continue;
    ++out[i];
    --left;
  }
  return out;
}

}  // namespace

void check_fractions(const SplitFractions& fractions) {
  // Written so that NaN fails too.
  if (fractions.val >= 0 && fractions.test >= 0 && fractions.val + fractions.test < 1) return;
  throw bad_input("val and test fractions must be at least 0 and together below 1");
}

std::vector<std::int8_t> cut_splits(std::int64_t samples, std::span<const std::int32_t> labels,
                                    const SplitFractions& fractions, std::uint64_t seed,
                                    const std::function<std::uint64_t(std::int64_t)>& sample_key) {
  check_fractions(fractions);
  std::vector<std::vector<std::int64_t>> groups(1);
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::size_t group =
        labels.empty() ? 0 : static_cast<std::size_t>(labels[static_cast<std::size_t>(i)]);
    if (group >= groups.size()) groups.resize(group + 1);
    groups[group].push_back(i);
  }
  std::vector<std::int64_t> sizes, room;
  for (const auto& group : groups) {
    sizes.push_back(static_cast<std::int64_t>(group.size()));
    room.push_back(std::max<std::int64_t>(0, sizes.back() - 1));
  }
  const std::vector<std::int64_t> test = quotas(sizes, room, fractions.test);
  for (std::size_t g = 0; g < room.size(); ++g) room[g] -= test[g];
  const std::vector<std::int64_t> val = quotas(sizes, room, fractions.val);

  std::vector<std::int8_t> out(static_cast<std::size_t>(samples), kTrain);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<std::pair<std::uint64_t, std::int64_t>> ranked;
    for (const std::int64_t sample : groups[g])
      ranked.emplace_back(Random(seed, "split", sample_key(sample)).next_u64(), sample);
    std::sort(ranked.begin(), ranked.end());
    for (std::int64_t i = 0; i < test[g] + val[g]; ++i)
      out[static_cast<std::size_t>(ranked[static_cast<std::size_t>(i)].second)] =
          i < test[g] ? kTest : kVal;
  }
  return out;
}

}  // namespace ddl
