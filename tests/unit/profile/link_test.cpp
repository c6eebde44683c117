#include "ddl/comm/thread_communicator.h"
#include "ddl/profile/link_probe.h"

#include <mutex>
#include <set>

#include "unit/profile/support.h"
#include <gtest/gtest.h>

namespace ddl::profile {
namespace {

PairRate pair_rate(int first, int second, bool same_node, double latency, double bandwidth) {
  PairRate out;
  out.first = first;
  out.second = second;
  out.same_node = same_node;
  out.latency_seconds = {latency, 0.9 * latency, 1.2 * latency, 10};
  out.bandwidth_bytes_per_second = {bandwidth, 0.8 * bandwidth, 1.1 * bandwidth, 5};
  return out;
}

TEST(Links, OfOneKindAreAClassWithoutExceptions) {
  const std::vector<PairRate> pairs = {pair_rate(0, 1, true, 1e-6, 8e9),
                                       pair_rate(0, 2, true, 1.9e-6, 5e9),
                                       pair_rate(1, 2, true, 1e-6, 8e9)};
  Cluster cluster;
  summarise_links(pairs, cluster);
  ASSERT_EQ(cluster.link_classes.size(), 1U);
  const Link& link = cluster.link_classes[0];
  EXPECT_EQ(link.level, "node");
  EXPECT_EQ(link.from, -1);
  EXPECT_EQ(link.to, -1);
  EXPECT_DOUBLE_EQ(link.latency_seconds.median, 1e-6);
  EXPECT_DOUBLE_EQ(link.bandwidth_bytes_per_second.median, 8e9);
  EXPECT_TRUE(cluster.link_exceptions.empty());
}

TEST(Links, FarFromTheirClassAreExceptions) {
  std::vector<PairRate> pairs;
  for (int i = 1; i <= 5; ++i) pairs.push_back(pair_rate(0, i, false, 1e-4, 1e9));
  pairs.push_back(pair_rate(2, 3, false, 1e-4, 0.4e9));    // slow
  pairs.push_back(pair_rate(2, 4, false, 2.1e-4, 1e9));    // late
  pairs.push_back(pair_rate(2, 5, false, 1e-4, 2.5e9));    // fast is told too
  pairs.push_back(pair_rate(3, 4, false, 1.9e-4, 1.9e9));  // within the factor
  pairs.push_back(pair_rate(0, 9, true, 1e-6, 9e9));
  Cluster cluster;
  summarise_links(pairs, cluster);
  ASSERT_EQ(cluster.link_classes.size(), 2U);
  EXPECT_EQ(cluster.link_classes[0].level, "node");
  EXPECT_EQ(cluster.link_classes[1].level, "network");
  EXPECT_DOUBLE_EQ(cluster.link_classes[1].bandwidth_bytes_per_second.median, 1e9);
  std::set<std::pair<int, int>> exceptions;
  for (const Link& link : cluster.link_exceptions) {
    EXPECT_EQ(link.level, "network");
    exceptions.emplace(link.from, link.to);
  }
  EXPECT_EQ(exceptions, (std::set<std::pair<int, int>>{{2, 3}, {2, 4}, {2, 5}}));
}

TEST(Links, AreMeasuredForEveryPairAndKnownToEveryRank) {
  for (const std::vector<int>& nodes :
       {std::vector<int>{0}, std::vector<int>{0, 0}, std::vector<int>{0, 0, 1}}) {
    std::mutex mutex;
    std::vector<std::vector<PairRate>> results;
    run_ranks(static_cast<int>(nodes.size()), [&](Communicator& communicator) {
      const std::vector<PairRate> pairs =
          measure_links(communicator, link_rounds(nodes), nodes, test::stepping_clock(0.001), 0.05);
      const std::lock_guard lock(mutex);
      results.push_back(pairs);
    });
    std::set<std::pair<int, int>> expected;
    if (nodes.size() >= 2) expected.emplace(0, 1);
    if (nodes.size() == 3) expected.emplace(0, 2);  // the first ranks of both nodes
    for (const std::vector<PairRate>& pairs : results) {
      std::set<std::pair<int, int>> found;
      for (const PairRate& pair : pairs) {
        found.emplace(pair.first, pair.second);
        EXPECT_EQ(pair.same_node, pair.second == 1);
        EXPECT_GT(pair.latency_seconds.low, 0);
        EXPECT_LE(pair.latency_seconds.low, pair.latency_seconds.median);
        EXPECT_LE(pair.latency_seconds.median, pair.latency_seconds.high);
        EXPECT_GT(pair.bandwidth_bytes_per_second.low, 0);
        EXPECT_LE(pair.bandwidth_bytes_per_second.median, pair.bandwidth_bytes_per_second.high);
        EXPECT_GE(pair.bandwidth_bytes_per_second.samples, 3);
        EXPECT_GE(pair.worst_ratio, 1);
        EXPECT_GE(pair.largest_bytes, 4096);
      }
      EXPECT_EQ(found, expected);
    }
  }
}

// Every message passes a counter; messages of a size get slower with the clock that counts them.
class SlowLink final : public Communicator {
 public:
  SlowLink(Communicator& beneath, std::shared_ptr<std::atomic<double>> now)
      : beneath_(beneath), now_(std::move(now)) {}
  int rank() const override { return beneath_.rank(); }
  int size() const override { return beneath_.size(); }
  std::string host() const override { return beneath_.host(); }
  int local_rank() const override { return beneath_.local_rank(); }
  int local_size() const override { return beneath_.local_size(); }
  void barrier() override { beneath_.barrier(); }
  void broadcast(std::span<std::byte> b, int root) override { beneath_.broadcast(b, root); }
  void all_reduce(std::span<std::int64_t> b, ReduceOp op) override { beneath_.all_reduce(b, op); }
  void all_reduce(std::span<float> b, ReduceOp op) override { beneath_.all_reduce(b, op); }
  void all_reduce(std::span<double> b, ReduceOp op) override { beneath_.all_reduce(b, op); }
  void reduce_scatter(std::span<const std::int64_t> s, std::span<std::int64_t> r,
                      std::span<const std::size_t> c) override {
    beneath_.reduce_scatter(s, r, c);
  }
  void all_gather(std::span<const std::byte> s, std::span<std::byte> r,
                  std::span<const std::size_t> c) override {
    beneath_.all_gather(s, r, c);
  }
  void send(std::span<const std::byte> buffer, int to, int tag) override {
    // 1 ms and 1 MB/s on the clock of the budget.
    now_->store(now_->load() + 1e-3 + static_cast<double>(buffer.size()) / 1e6);
    largest = std::max(largest, buffer.size());
    beneath_.send(buffer, to, tag);
  }
  void receive(std::span<std::byte> b, int from, int tag) override {
    beneath_.receive(b, from, tag);
  }
  std::unique_ptr<Request> start_all_reduce(std::span<std::int64_t> b, ReduceOp op) override {
    return beneath_.start_all_reduce(b, op);
  }
  std::unique_ptr<Request> start_send(std::span<const std::byte> b, int to, int tag) override {
    return beneath_.start_send(b, to, tag);
  }
  std::unique_ptr<Request> start_receive(std::span<std::byte> b, int from, int tag) override {
    return beneath_.start_receive(b, from, tag);
  }
  void abort(int exit_code) override { beneath_.abort(exit_code); }
  std::size_t largest = 0;

 private:
  Communicator& beneath_;
  std::shared_ptr<std::atomic<double>> now_;
};

TEST(Links, AreNotGivenMessagesThatTakeTooLong) {
  const std::vector<int> nodes = {0, 0};
  for (const auto& [seconds, expected] :
       {std::pair{3.0, std::size_t{65536}}, std::pair{60.0, std::size_t{4} << 20}}) {
    run_ranks(2, [&, seconds = seconds, expected = expected](Communicator& beneath) {
      auto now = std::make_shared<std::atomic<double>>(0);
      SlowLink communicator(beneath, now);
      const Clock clock = [now] { return now->load(); };
      measure_links(communicator, link_rounds(nodes), nodes, clock, seconds);
      if (beneath.rank() == 0) {
        EXPECT_EQ(communicator.largest, expected);
        EXPECT_LE(clock(), seconds);
      }
    });
  }
}

TEST(AllReduce, IsTimedByAllRanksAlike) {
  std::mutex mutex;
  std::vector<Measured> results;
  run_ranks(3, [&](Communicator& communicator) {
    const Measured rate = all_reduce_rate(communicator, test::stepping_clock(0.01), 0.1);
    const std::lock_guard lock(mutex);
    results.push_back(rate);
  });
  for (const Measured& rate : results) {
    EXPECT_GE(rate.samples, 3);
    EXPECT_GT(rate.low, 0);
    EXPECT_LE(rate.low, rate.median);
    EXPECT_LE(rate.median, rate.high);
    EXPECT_EQ(rate.median, results[0].median);
  }
}

TEST(AllReduce, OfOneRankIsNotMeasured) {
  run_ranks(1, [](Communicator& communicator) {
    EXPECT_EQ(all_reduce_rate(communicator, test::stepping_clock(0.01), 0.1).samples, 0);
  });
}

}  // namespace
}  // namespace ddl::profile
