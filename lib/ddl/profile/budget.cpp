#include "ddl/profile/budget.h"

#include "ddl/base/clock.h"

#include <algorithm>
#include <utility>

namespace ddl::profile {

Clock monotonic_clock() {
  return [watch = Stopwatch()] { return watch.seconds(); };
}

Budget::Budget(Clock clock, double maximum_seconds)
    : clock_(std::move(clock)), maximum_seconds_(maximum_seconds), start_(clock_()) {}

double Budget::remaining() const {
  return std::max(0.0, maximum_seconds_ - elapsed());
}

double Budget::window(double share, double cap) const {
  return std::min({share * maximum_seconds_, cap, remaining()});
}

std::vector<double> repeat(const Clock& clock, const Repetitions& repetitions,
                           const std::function<double()>& once) {
  std::vector<double> values;
  const double start = clock();
  for (;;) {
    values.push_back(once());
    const auto count = static_cast<double>(values.size());
    if (count >= repetitions.maximum) return values;
    const double elapsed = clock() - start;
    if (count >= repetitions.minimum && elapsed + elapsed / count > repetitions.seconds)
      return values;
  }
}

int repetitions_in(double seconds, double each, int minimum, int maximum) {
  const double fitting = each > 0 ? seconds / each : static_cast<double>(maximum);
  return static_cast<int>(
      std::clamp(fitting, static_cast<double>(minimum), static_cast<double>(maximum)));
}

}  // namespace ddl::profile
