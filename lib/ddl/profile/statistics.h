// From repetitions to a median with its spread.
#pragma once

#include "ddl/artifact/cluster.h"

#include <span>
#include <vector>

namespace ddl::profile {

// The value below which a fraction q in [0, 1] of the values lies, interpolated linearly between
// neighbours: position q * (n - 1) in the sorted values. `sorted` must not be empty.
double percentile(std::span<const double> sorted, double q);

// Median, 10th and 90th percentile; all zero for no values.
Measured measured(std::vector<double> values);

// Of quantities that add up because they were measured at the same time (rates of one node's
// workers): medians and percentiles are added; samples is the smallest. The spread is that of
// workers that are slow together: an upper bound.
Measured sum_of(std::span<const Measured> parts);

// Of alike things measured one by one (links of one class): the median of the medians, the 10th
// percentile of the lows, the 90th percentile of the highs; samples are added.
Measured typical_of(std::span<const Measured> parts);

}  // namespace ddl::profile
