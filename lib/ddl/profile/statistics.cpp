#include "ddl/profile/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ddl::profile {
namespace {

std::vector<double> sorted_values(std::span<const Measured> parts, double Measured::*member) {
  std::vector<double> out;
  for (const Measured& part : parts) out.push_back(part.*member);
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

double percentile(std::span<const double> sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(position));
  if (below + 1 >= sorted.size()) return sorted.back();
  const double fraction = position - static_cast<double>(below);
  // Both products are of one sign, so that equal neighbours give themselves.
  return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

Measured measured(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  return {percentile(values, 0.5), percentile(values, 0.1), percentile(values, 0.9),
          static_cast<int>(values.size())};
}

Measured sum_of(std::span<const Measured> parts) {
  Measured out;
  out.samples = parts.empty() ? 0 : std::numeric_limits<int>::max();
  for (const Measured& part : parts) {
    out.median += part.median;
    out.low += part.low;
    out.high += part.high;
    out.samples = std::min(out.samples, part.samples);
  }
  return out;
}

Measured typical_of(std::span<const Measured> parts) {
  if (parts.empty()) return {};
  Measured out;
  out.median = percentile(sorted_values(parts, &Measured::median), 0.5);
  out.low = percentile(sorted_values(parts, &Measured::low), 0.1);
  out.high = percentile(sorted_values(parts, &Measured::high), 0.9);
  for (const Measured& part : parts) out.samples += part.samples;
  return out;
}

}  // namespace ddl::profile
