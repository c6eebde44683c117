// Figures from all ranks to all ranks. Collective.
#pragma once

#include "ddl/artifact/cluster.h"
#include "ddl/comm/communicator.h"

#include <span>
#include <vector>

namespace ddl::profile {

// Lists of unequal length, one per rank.
std::vector<std::vector<double>> gather_numbers(Communicator& communicator,
                                                std::span<const double> mine);
std::vector<Measured> gather_measured(Communicator& communicator, const Measured& mine);

// A Measured as four numbers of a list.
void put(std::vector<double>& numbers, const Measured& value);
Measured get(std::span<const double> numbers, std::size_t& position);

}  // namespace ddl::profile
