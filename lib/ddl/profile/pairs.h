// Who is where, and which pairs exchange messages when.
#pragma once

#include "ddl/comm/communicator.h"

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ddl::profile {

// What a rank knows of its place. `key` is the same for ranks of one running system (host name and
// boot), and may be the same for several nodes; local_rank tells those apart.
struct Place {
  std::string key;
  int local_rank = 0;
};

// Index of each rank's node, nodes numbered in order of their first ranks. Ranks of one key share a
// node unless a local rank appears twice: its k-th appearance belongs to the k-th node of that key.
std::vector<int> assign_nodes(std::span<const Place> places);

using Pair = std::pair<int, int>;  // first < second
using Round = std::vector<Pair>;   // disjoint pairs, which may run at the same time

// A tournament (circle method): every pair of 0..players-1 meets exactly once, in players - 1
// rounds (players when odd) of floor(players / 2) pairs.
std::vector<Round> tournament(int players);

// At most `limit` of the items, evenly spread, in order.
template <class T>
std::vector<T> spread(const std::vector<T>& items, std::size_t limit) {
  if (items.size() <= limit) return items;
  std::vector<T> out;
  for (std::size_t i = 0; i < limit; ++i) out.push_back(items[i * items.size() / limit]);
  return out;
}

// The rounds in which ranks exchange messages, pairs of one round disturbing each other as little
// as can be: first the pairs inside nodes, one per node and round (at most kMaximumLocalPairs of a
// node), then the pairs of nodes by their first ranks (at most kMaximumNodeRounds rounds).
inline constexpr std::size_t kMaximumLocalPairs = 12, kMaximumNodeRounds = 48;
std::vector<Round> link_rounds(std::span<const int> node_of_rank);

}  // namespace ddl::profile
