#include "ddl/profile/pairs.h"

#include <map>
#include <set>

#include <gtest/gtest.h>

namespace ddl::profile {
namespace {

TEST(Tournament, EveryPairMeetsOnceAndNobodyIsInTwoPlaces) {
  for (int players = 0; players <= 33; ++players) {
    const std::vector<Round> rounds = tournament(players);
    std::set<Pair> seen;
    for (const Round& round : rounds) {
      std::set<int> busy;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_GE(a, 0);
        EXPECT_LT(b, players);
        EXPECT_TRUE(busy.insert(a).second) << players;
        EXPECT_TRUE(busy.insert(b).second) << players;
        EXPECT_TRUE(seen.insert({a, b}).second) << players << ": " << a << ' ' << b;
      }
      EXPECT_EQ(static_cast<int>(round.size()), players / 2);
    }
    EXPECT_EQ(static_cast<int>(seen.size()), players < 2 ? 0 : players * (players - 1) / 2);
  }
}

TEST(Nodes, ShareAKeyUnlessALocalRankComesTwice) {
  const std::vector<Place> plain = {{"a", 0}, {"a", 1}, {"b", 0}, {"b", 1}, {"a", 2}};
  EXPECT_EQ(assign_nodes(plain), (std::vector<int>{0, 0, 1, 1, 0}));
  // Two machines that both call themselves "a".
  const std::vector<Place> twins = {{"a", 0}, {"a", 0}, {"a", 1}, {"a", 1}, {"b", 0}};
  EXPECT_EQ(assign_nodes(twins), (std::vector<int>{0, 1, 0, 1, 2}));
  EXPECT_TRUE(assign_nodes({}).empty());
}

TEST(Spread, KeepsOrderAndReachesAlmostToTheEnd) {
  std::vector<int> items;
  for (int i = 0; i < 100; ++i) items.push_back(i);
  const std::vector<int> few = spread(items, 7);
  EXPECT_EQ(few.size(), 7U);
  EXPECT_EQ(few.front(), 0);
  EXPECT_GE(few.back(), 80);
  EXPECT_TRUE(std::is_sorted(few.begin(), few.end()));
  EXPECT_EQ(spread(items, 100), items);
  EXPECT_EQ(spread(items, 1000), items);
}

TEST(LinkRounds, VisitEachLocalPairAndEachPairOfNodesOnce) {
  const std::vector<std::vector<int>> layouts = {
      {0}, {0, 0}, {0, 1}, {0, 0, 0}, {0, 1, 0, 1, 2}, {0, 0, 0, 1, 2, 2, 1, 3}};
  for (const std::vector<int>& nodes : layouts) {
    const std::vector<Round> rounds = link_rounds(nodes);
    std::set<Pair> seen;
    std::map<Pair, int> between;
    for (const Round& round : rounds) {
      std::set<int> busy_ranks;
      std::map<int, int> pairs_inside;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_TRUE(busy_ranks.insert(a).second);
        EXPECT_TRUE(busy_ranks.insert(b).second);
        EXPECT_TRUE(seen.insert({a, b}).second);
        const int node_a = nodes[static_cast<std::size_t>(a)],
                  node_b = nodes[static_cast<std::size_t>(b)];
        if (node_a == node_b) {
          // Pairs that share a node's memory would disturb each other.
          EXPECT_EQ(++pairs_inside[node_a], 1);
        } else {
          ++between[{std::min(node_a, node_b), std::max(node_a, node_b)}];
        }
      }
    }
    std::map<int, int> sizes;
    for (const int node : nodes) ++sizes[node];
    std::size_t expected_inside = 0;
    for (const auto& [node, size] : sizes)
      expected_inside += static_cast<std::size_t>(size * (size - 1) / 2);
    const std::size_t expected_between = sizes.size() * (sizes.size() - 1) / 2;
    EXPECT_EQ(between.size(), expected_between);
    for (const auto& [pair, count] : between) EXPECT_EQ(count, 1);
    EXPECT_EQ(seen.size(), expected_inside + expected_between);
  }
}

TEST(LinkRounds, AreBoundedForManyRanks) {
  std::vector<int> nodes;
  for (int rank = 0; rank < 300 * 16; ++rank) nodes.push_back(rank / 16);
  const std::vector<Round> rounds = link_rounds(nodes);
  EXPECT_LE(rounds.size(), kMaximumLocalPairs + kMaximumNodeRounds);
  std::set<int> nodes_inside, nodes_between;
  for (const Round& round : rounds)
    for (const auto& [a, b] : round)
      for (const int rank : {a, b})
        (a / 16 == b / 16 ? nodes_inside : nodes_between).insert(rank / 16);
  EXPECT_EQ(nodes_inside.size(), 300U);
  EXPECT_EQ(nodes_between.size(), 300U);
}

}  // namespace
}  // namespace ddl::profile
