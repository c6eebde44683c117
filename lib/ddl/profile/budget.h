// The time limit of a profile: how long a probe may repeat itself.
#pragma once

#include <functional>
#include <vector>

namespace ddl::profile {

using Clock = std::function<double()>;  // seconds from some moment on, never backwards

// A Clock that reads the machine's monotonic clock.
Clock monotonic_clock();

class Budget {
 public:
  Budget(Clock clock, double maximum_seconds);
  const Clock& clock() const { return clock_; }
  double elapsed() const { return clock_() - start_; }
  double remaining() const;  // never negative
  // Seconds for a probe that is to have this share of the whole: at most `cap` and what is left.
  double window(double share, double cap) const;

 private:
  Clock clock_;
  double maximum_seconds_, start_;
};

struct Repetitions {
  double seconds = 0;
  int minimum = 1, maximum = 1 << 16;
};

// Calls once(), which returns the value it measured, again and again: at least `minimum` times,
// then until another call of mean length would end after `seconds`. Returns all values.
std::vector<double> repeat(const Clock& clock, const Repetitions& repetitions,
                           const std::function<double()>& once);

// How many repetitions of `each` seconds fit into `seconds`, within the bounds.
int repetitions_in(double seconds, double each, int minimum, int maximum);

}  // namespace ddl::profile
