// Messages between ranks: latency and bandwidth per pair, and the rate of an all-reduce.
//
// Ping-pong: half of a round trip of 8 bytes is the latency; the bandwidth comes from the largest
// message that the time allowed, up to 4MiB:  bytes / (half round trip - latency), so that
//   seconds of a message = latency + bytes / bandwidth
// holds at both ends. Sizes between them are measured to see how far it holds in the middle.
#pragma once

#include "ddl/artifact/cluster.h"
#include "ddl/comm/communicator.h"
#include "ddl/profile/budget.h"
#include "ddl/profile/pairs.h"

#include <span>
#include <vector>

namespace ddl::profile {

// What the first rank of a pair measured.
struct PairRate {
  int first = 0, second = 0;
  bool same_node = true;
  Measured latency_seconds, bandwidth_bytes_per_second;
  double largest_bytes = 0;  // of the messages behind the bandwidth
  // The longest a message between took, over what latency and bandwidth say: 1 when they hold.
  double worst_ratio = 1;
};

// Collective: runs the rounds one after the other, `seconds` for all of them; every rank gets the
// results of all pairs in the order of the rounds.
std::vector<PairRate> measure_links(Communicator& communicator, const std::vector<Round>& rounds,
                                    std::span<const int> node_of_rank, const Clock& clock,
                                    double seconds);

// Classes, and pairs whose median latency or bandwidth differs from their class's by more than
// kExceptionFactor as exceptions. A pair of nodes stands as their first ranks.
inline constexpr double kExceptionFactor = 2;
void summarise_links(std::span<const PairRate> pairs, Cluster& cluster);

// int64 sum of 4MiB over all ranks: bytes of the buffer over the slowest rank's time. Collective;
// no samples for one rank.
Measured all_reduce_rate(Communicator& communicator, const Clock& clock, double seconds);

}  // namespace ddl::profile
