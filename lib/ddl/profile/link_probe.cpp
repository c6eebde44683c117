#include "ddl/profile/link_probe.h"

#include "ddl/base/clock.h"
#include "ddl/base/error.h"
#include "ddl/profile/gather.h"
#include "ddl/profile/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ddl::profile {
namespace {

constexpr std::array<std::size_t, 5> kMessageBytes = {8, 4096, 65536, 1 << 20, 4 << 20};
constexpr std::size_t kAllReduceWords = (std::size_t{4} << 20) / sizeof(std::int64_t);
constexpr int kOrderTag = 7101, kMessageTag = 7102;
constexpr int kMostRoundTrips = 500, kFewestRoundTrips = 3;

// What the first rank of a pair asks of the second: so many messages of a size; none ends it.
struct Order {
  std::int64_t bytes = 0, round_trips = 0;
};

class Player {
 public:
  Player(Communicator& communicator, int partner)
      : communicator_(communicator), partner_(partner), buffer_(kMessageBytes.back()) {}

  // Seconds of half a round trip, one value each.
  std::vector<double> play(std::size_t bytes, int round_trips) {
    send({static_cast<std::int64_t>(bytes), round_trips});
    std::vector<double> out;
    const std::span message = std::span(buffer_).first(bytes);
    for (int i = 0; i < round_trips; ++i) {
      const Stopwatch watch;
      communicator_.send(message, partner_, kMessageTag);
      communicator_.receive(message, partner_, kMessageTag);
      out.push_back(std::max(watch.seconds(), 1e-9) / 2);
    }
    return out;
  }

  void finish() { send({}); }

  // The other side.
  void answer() {
    for (;;) {
      Order order;
      communicator_.receive(std::as_writable_bytes(std::span(&order, 1)), partner_, kOrderTag);
      if (order.round_trips == 0) return;
      const std::span message = std::span(buffer_).first(static_cast<std::size_t>(order.bytes));
      for (std::int64_t i = 0; i < order.round_trips; ++i) {
        communicator_.receive(message, partner_, kMessageTag);
        communicator_.send(message, partner_, kMessageTag);
      }
    }
  }

 private:
  void send(Order order) {
    communicator_.send(std::as_bytes(std::span(&order, 1)), partner_, kOrderTag);
  }

  Communicator& communicator_;
  int partner_;
  std::vector<std::byte> buffer_;
};

double bandwidth_of(std::size_t bytes, double seconds, double latency) {
  // A large message that seems faster than a small one is noise: then its own time alone counts.
  const double transfer = seconds > 2 * latency ? seconds - latency : seconds;
  return static_cast<double>(bytes) / transfer;
}

void ping_pong(Player& player, const Clock& clock, double seconds, PairRate& out) {
  const double start = clock();
  std::vector<std::pair<std::size_t, double>> medians;
  const double share = seconds / static_cast<double>(kMessageBytes.size());
  double round_trip = 0;  // of the last size, by the clock that limits us
  for (const std::size_t bytes : kMessageBytes) {
    // The next size takes at most as much longer as it is larger.
    if (medians.size() > 1) {
      const double growth = static_cast<double>(bytes) / static_cast<double>(medians.back().first);
      if (clock() - start + (kFewestRoundTrips + 2) * growth * round_trip > seconds) break;
    }
    player.play(bytes, 1);  // buffers and connections are made
    const double before = clock();
    player.play(bytes, 1);
    round_trip = clock() - before;
    std::vector<double> times =
        player.play(bytes, repetitions_in(share, round_trip, kFewestRoundTrips, kMostRoundTrips));
    const Measured half = measured(times);
    if (bytes == kMessageBytes.front()) {
      out.latency_seconds = half;
    } else {
      for (double& time : times) time = bandwidth_of(bytes, time, out.latency_seconds.median);
      out.bandwidth_bytes_per_second = measured(std::move(times));
      out.largest_bytes = static_cast<double>(bytes);
    }
    medians.emplace_back(bytes, half.median);
  }
  player.finish();
  for (const auto& [bytes, time] : medians)
    out.worst_ratio = std::max(out.worst_ratio, time / (out.latency_seconds.median +
                                                        static_cast<double>(bytes) /
                                                            out.bandwidth_bytes_per_second.median));
}

bool differs(double value, double of_class) {
  return value > of_class * kExceptionFactor || value * kExceptionFactor < of_class;
}

}  // namespace

std::vector<PairRate> measure_links(Communicator& communicator, const std::vector<Round>& rounds,
                                    std::span<const int> node_of_rank, const Clock& clock,
                                    double seconds) {
  const int me = communicator.rank();
  std::vector<double> numbers;
  const double each = rounds.empty() ? 0 : seconds / static_cast<double>(rounds.size());
  for (std::size_t round = 0; round < rounds.size(); ++round) {
    communicator.barrier();
    for (const auto& [first, second] : rounds[round]) {
      if (me == second) Player(communicator, first).answer();
      if (me != first) continue;
      PairRate rate;
      Player player(communicator, second);
      ping_pong(player, clock, each, rate);
      numbers.insert(numbers.end(),
                     {static_cast<double>(round), static_cast<double>(first),
                      static_cast<double>(second), rate.largest_bytes, rate.worst_ratio});
      put(numbers, rate.latency_seconds);
      put(numbers, rate.bandwidth_bytes_per_second);
    }
  }
  communicator.barrier();

  std::vector<std::pair<double, PairRate>> found;
  for (const std::vector<double>& list : gather_numbers(communicator, numbers)) {
    for (std::size_t at = 0; at + 5 <= list.size();) {
      PairRate rate;
      const double round = list[at];
      rate.first = static_cast<int>(list[at + 1]);
      rate.second = static_cast<int>(list[at + 2]);
      rate.largest_bytes = list[at + 3];
      rate.worst_ratio = list[at + 4];
      at += 5;
      rate.latency_seconds = get(list, at);
      rate.bandwidth_bytes_per_second = get(list, at);
      rate.same_node = node_of_rank[static_cast<std::size_t>(rate.first)] ==
                       node_of_rank[static_cast<std::size_t>(rate.second)];
      found.emplace_back(round, rate);
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PairRate> out;
  for (const auto& [round, rate] : found) out.push_back(rate);
  return out;
}

void summarise_links(std::span<const PairRate> pairs, Cluster& cluster) {
  for (const bool same_node : {true, false}) {
    std::vector<Measured> latencies, bandwidths;
    for (const PairRate& pair : pairs) {
      if (pair.same_node != same_node) continue;
      latencies.push_back(pair.latency_seconds);
      bandwidths.push_back(pair.bandwidth_bytes_per_second);
    }
    if (latencies.empty()) continue;
    Link link;
    link.level = same_node ? "node" : "network";
    link.latency_seconds = typical_of(latencies);
    link.bandwidth_bytes_per_second = typical_of(bandwidths);
    cluster.link_classes.push_back(link);
    for (const PairRate& pair : pairs) {
      if (pair.same_node != same_node) continue;
      if (!differs(pair.latency_seconds.median, link.latency_seconds.median) &&
          !differs(pair.bandwidth_bytes_per_second.median, link.bandwidth_bytes_per_second.median))
        continue;
      cluster.link_exceptions.push_back({pair.first, pair.second, link.level, pair.latency_seconds,
                                         pair.bandwidth_bytes_per_second});
    }
  }
}

Measured all_reduce_rate(Communicator& communicator, const Clock& clock, double seconds) {
  if (communicator.size() == 1) return {};
  std::vector<std::int64_t> words(kAllReduceWords, 1);
  const auto once = [&] {
    std::fill(words.begin(), words.end(), std::int64_t{communicator.rank()});
    communicator.barrier();
    const Stopwatch watch;
    communicator.all_reduce(std::span(words), ReduceOp::sum);
    return std::max(watch.seconds(), 1e-9);
  };
  once();
  const double start = clock();
  once();
  // All ranks must do as many: rank 0's count for all.
  std::int64_t count = communicator.rank() == 0
                           ? repetitions_in(seconds, std::max(clock() - start, 1e-6), 3, 200)
                           : 0;
  count = communicator.all_reduce(count, ReduceOp::max);
  std::vector<double> times;
  for (std::int64_t i = 0; i < count; ++i) times.push_back(once());
  communicator.all_reduce(std::span(times), ReduceOp::max);
  const auto ranks = static_cast<std::int64_t>(communicator.size());
  if (words.front() != ranks * (ranks - 1) / 2 || words.back() != words.front())
    throw failure("an all-reduce gave a wrong sum").with_rank(communicator.rank());
  for (double& time : times)
    time = static_cast<double>(kAllReduceWords * sizeof(std::int64_t)) / time;
  return measured(std::move(times));
}

}  // namespace ddl::profile
