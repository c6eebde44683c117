#include "ddl/profile/pairs.h"

#include <algorithm>
#include <map>

namespace ddl::profile {

std::vector<int> assign_nodes(std::span<const Place> places) {
  std::map<std::pair<std::string, int>, int> appearances;   // of a local rank under a key
  std::map<std::pair<std::string, int>, int> node_numbers;  // of a key and appearance
  std::vector<int> out;
  for (const Place& place : places) {
    const int appearance = appearances[{place.key, place.local_rank}]++;
    const auto next = static_cast<int>(node_numbers.size());
    out.push_back(node_numbers.emplace(std::pair{place.key, appearance}, next).first->second);
  }
  return out;
}

std::vector<Round> tournament(int players) {
  std::vector<Round> rounds;
  if (players < 2) return rounds;
  // Player n - 1 stays, the others move one seat on a circle each round; with an odd number an
  // absent player takes that seat, and whoever meets them rests.
  const int seats = players + players % 2, circle = seats - 1;
  for (int r = 0; r < circle; ++r) {
    Round round;
    for (int i = 0; i < seats / 2; ++i) {
      const int a = i == 0 ? seats - 1 : (r + i) % circle;
      const int b = (r + circle - i) % circle;
      if (std::max(a, b) < players) round.emplace_back(std::min(a, b), std::max(a, b));
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

std::vector<Round> link_rounds(std::span<const int> node_of_rank) {
  std::vector<std::vector<int>> members;
  for (std::size_t rank = 0; rank < node_of_rank.size(); ++rank) {
    const auto node = static_cast<std::size_t>(node_of_rank[rank]);
    if (node >= members.size()) members.resize(node + 1);
    members[node].push_back(static_cast<int>(rank));
  }
  std::vector<Round> rounds;
  for (const std::vector<int>& ranks : members) {
    std::vector<Pair> pairs;
    for (const Round& round : tournament(static_cast<int>(ranks.size())))
      for (const auto& [a, b] : round)
        pairs.emplace_back(ranks[static_cast<std::size_t>(a)], ranks[static_cast<std::size_t>(b)]);
    pairs = spread(pairs, kMaximumLocalPairs);
    if (rounds.size() < pairs.size()) rounds.resize(pairs.size());
    for (std::size_t i = 0; i < pairs.size(); ++i) rounds[i].push_back(pairs[i]);
  }
  for (Round& round : spread(tournament(static_cast<int>(members.size())), kMaximumNodeRounds)) {
    for (auto& [a, b] : round) {
      a = members[static_cast<std::size_t>(a)].front();
      b = members[static_cast<std::size_t>(b)].front();
      if (a > b) std::swap(a, b);
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace ddl::profile
