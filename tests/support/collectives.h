// What every communicator must do, for ranks as threads and as processes alike: each check is
// called by all ranks and throws a text that says what was wrong. Inputs are small integers, so
// that every sum is exact in any order.
#pragma once

#include "ddl/comm/communicator.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace ddl::test {

// Name and check, in the order in which all ranks must call them.
std::vector<std::pair<std::string, std::function<void(Communicator&)>>> collective_checks();

// Three steps of the exact reduction as training uses it, with unequal shares, spills, a tensor of
// no elements and, on three ranks and more, one rank without a task: the bits of all sums and
// exponents, the same on any number of ranks of any communicator.
std::string exact_sum_bits(Communicator& communicator);

}  // namespace ddl::test
