#include "support/collectives.h"

#include "ddl/base/random.h"
#include "ddl/comm/exact.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <type_traits>

namespace ddl::test {
namespace {

const std::size_t kLengths[] = {0, 1, 2, 3, 7, 64, 1000, 12345};

void expect(bool fine, const Communicator& communicator, const std::string& what) {
  if (fine) return;
  throw std::runtime_error("rank " + std::to_string(communicator.rank()) + " of " +
                           std::to_string(communicator.size()) + ": " + what);
}

// Of an element of a rank's data: -500 to 500, unlike for each rank and place.
std::int64_t value_at(int rank, std::size_t index) {
  const std::uint64_t mixed = (index + 1) * 2654435761U + static_cast<std::uint64_t>(rank) * 40503U;
  return static_cast<std::int64_t>(mixed % 1001) - 500;
}

std::byte byte_at(int rank, std::size_t index) {
  return static_cast<std::byte>(value_at(rank, index) & 0xff);
}

std::vector<std::byte> bytes_of(int rank, std::size_t first, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = byte_at(rank, first + i);
  return bytes;
}

// Over all ranks.
std::int64_t reduced_at(const Communicator& communicator, std::size_t index, ReduceOp op) {
  std::int64_t result = value_at(0, index);
  for (int r = 1; r < communicator.size(); ++r) {
    const std::int64_t other = value_at(r, index);
    if (op == ReduceOp::sum) result += other;
    if (op == ReduceOp::max) result = std::max(result, other);
    if (op == ReduceOp::min) result = std::min(result, other);
  }
  return result;
}

void place(Communicator& communicator) {
  expect(communicator.rank() >= 0 && communicator.rank() < communicator.size(), communicator,
         "the rank is outside the world");
  const std::int64_t ranks =
      communicator.all_reduce(std::int64_t{1} << communicator.rank(), ReduceOp::sum);
  expect(ranks == (std::int64_t{1} << communicator.size()) - 1, communicator,
         "two ranks have the same number");
  // All ranks of these tests share one machine.
  expect(communicator.local_size() == communicator.size() &&
             communicator.local_rank() == communicator.rank(),
         communicator, "ranks that share memory are not counted");
  expect(!communicator.host().empty(), communicator, "the host has no name");
  communicator.barrier();
}

template <class T>
void all_reduce(Communicator& communicator) {
  for (const std::size_t length : kLengths) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::min}) {
      std::vector<T> buffer(length);
      for (std::size_t i = 0; i < length; ++i)
        buffer[i] = static_cast<T>(value_at(communicator.rank(), i));
      communicator.all_reduce(std::span<T>(buffer), op);
      for (std::size_t i = 0; i < length; ++i) {
        expect(buffer[i] == static_cast<T>(reduced_at(communicator, i, op)), communicator,
               "all_reduce of " + std::to_string(length) + " is wrong at " + std::to_string(i));
      }
    }
  }
}

void large_integers(Communicator& communicator) {
  const std::int64_t n = communicator.size();
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  std::vector<std::int64_t> words = {kMost / n, kLeast / n,
                                     (std::int64_t{1} << 53) + communicator.rank()};
  communicator.all_reduce(std::span(words), ReduceOp::sum);
  expect(words[0] == kMost / n * n && words[1] == kLeast / n * n &&
             words[2] == n * (std::int64_t{1} << 53) + n * (n - 1) / 2,
         communicator, "64 bits do not survive an all_reduce");
  std::vector<std::int64_t> least = {communicator.rank() == n - 1 ? kLeast : std::int64_t{0}};
  communicator.all_reduce(std::span(least), ReduceOp::min);
  expect(least[0] == kLeast, communicator, "the least of all integers is lost");
}

void started_all_reduce(Communicator& communicator) {
  std::vector<std::vector<std::int64_t>> buffers(4);
  std::vector<std::unique_ptr<Request>> requests;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    for (std::size_t i = 0; i < 100 * b; ++i)
      buffers[b].push_back(value_at(communicator.rank(), i + b));
    requests.push_back(communicator.start_all_reduce(std::span(buffers[b]), ReduceOp::sum));
  }
  // Finished in another order, one by asking.
  requests[2]->wait();
  requests[0]->wait();
  while (!requests[1]->test()) {
  }
  requests[3]->wait();
  requests[1]->wait();  // a second time is harmless
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    for (std::size_t i = 0; i < buffers[b].size(); ++i) {
      expect(buffers[b][i] == reduced_at(communicator, i + b, ReduceOp::sum), communicator,
             "a started all_reduce is wrong");
    }
  }
}

void broadcast(Communicator& communicator) {
  for (int root = 0; root < communicator.size(); ++root) {
    for (const std::size_t length : kLengths) {
      std::vector<std::byte> buffer = bytes_of(communicator.rank(), 0, length);
      communicator.broadcast(std::span(buffer), root);
      expect(buffer == bytes_of(root, 0, length), communicator, "a broadcast is wrong");
    }
  }
}

// Pieces of unlike sizes, some or all of them empty; the same on all ranks.
std::vector<std::vector<std::size_t>> unequal_counts(const Communicator& communicator) {
  std::vector<std::vector<std::size_t>> all;
  Random random(1, "counts");
  for (const std::size_t most : {1, 4, 50, 3000}) {
    for (int trial = 0; trial < 3; ++trial) {
      std::vector<std::size_t> counts;
      for (int r = 0; r < communicator.size(); ++r)
        counts.push_back(random.below(3) == 0 ? 0 : random.below(most));
      all.push_back(counts);
    }
  }
  return all;
}

struct Piece {
  std::size_t first, count, total;
};

Piece piece_of(std::span<const std::size_t> counts, int rank) {
  const auto mine = counts.begin() + rank;
  return {std::accumulate(counts.begin(), mine, std::size_t{0}), *mine,
          std::accumulate(counts.begin(), counts.end(), std::size_t{0})};
}

void reduce_scatter(Communicator& communicator) {
  for (const auto& counts : unequal_counts(communicator)) {
    const Piece piece = piece_of(counts, communicator.rank());
    std::vector<std::int64_t> send(piece.total), receive(piece.count, -1);
    for (std::size_t i = 0; i < send.size(); ++i) send[i] = value_at(communicator.rank(), i);
    communicator.reduce_scatter(send, receive, counts);
    for (std::size_t i = 0; i < receive.size(); ++i) {
      expect(receive[i] == reduced_at(communicator, piece.first + i, ReduceOp::sum), communicator,
             "a reduce_scatter is wrong");
    }
  }
}

void all_gather(Communicator& communicator) {
  for (const auto& counts : unequal_counts(communicator)) {
    const Piece mine = piece_of(counts, communicator.rank());
    const std::vector<std::byte> send = bytes_of(communicator.rank(), 0, mine.count);
    std::vector<std::byte> receive(mine.total);
    communicator.all_gather(send, receive, counts);
    for (int r = 0; r < communicator.size(); ++r) {
      const Piece piece = piece_of(counts, r);
      const std::vector<std::byte> expected = bytes_of(r, 0, piece.count);
      expect(std::equal(expected.begin(), expected.end(),
                        receive.begin() + static_cast<std::ptrdiff_t>(piece.first)),
             communicator, "an all_gather is wrong");
    }
  }
}

// Round the ring, every length, two tags taken in the other order.
void messages(Communicator& communicator) {
  const int next = (communicator.rank() + 1) % communicator.size();
  const int previous = (communicator.rank() + communicator.size() - 1) % communicator.size();
  for (const std::size_t length : kLengths) {
    const std::vector<std::byte> first = bytes_of(communicator.rank(), 0, length);
    const std::vector<std::byte> second = bytes_of(communicator.rank(), 99, length);
    std::vector<std::byte> got_first(length), got_second(length);
    const auto one = communicator.start_send(first, next, 1);
    const auto two = communicator.start_send(second, next, 2);
    const auto later = communicator.start_receive(std::span(got_second), previous, 2);
    communicator.receive(std::span(got_first), previous, 1);
    while (!later->test()) {
    }
    one->wait();
    two->wait();
    expect(
        got_first == bytes_of(previous, 0, length) && got_second == bytes_of(previous, 99, length),
        communicator, "a message is wrong");
  }
}

// Of two messages, each posted and waited for before the next.
void blocking_messages(Communicator& communicator) {
  for (int to = 1; to < communicator.size(); ++to) {
    for (const std::size_t length : kLengths) {
      std::vector<std::byte> buffer = bytes_of(communicator.rank(), 0, length);
      if (communicator.rank() == 0) communicator.send(buffer, to, 3);
      if (communicator.rank() == to) communicator.receive(std::span(buffer), 0, 3);
      if (communicator.rank() == to)
        expect(buffer == bytes_of(0, 0, length), communicator, "a sent message is wrong");
    }
  }
}

void texts(Communicator& communicator) {
  const auto text_of = [](int rank) {
    return rank == 0 ? std::string() : std::string(static_cast<std::size_t>(rank), '\0') + "\nä";
  };
  const auto all = communicator.all_gather_text(text_of(communicator.rank()));
  expect(static_cast<int>(all.size()) == communicator.size(), communicator, "texts are missing");
  for (int r = 0; r < communicator.size(); ++r) {
    expect(all[static_cast<std::size_t>(r)] == text_of(r), communicator,
           "a gathered text is wrong");
  }
  const int root = communicator.size() - 1;
  const char* mine = communicator.rank() == root ? "of the last rank" : "of another";
  expect(communicator.broadcast_text(mine, root) == "of the last rank", communicator,
         "a broadcast text is wrong");
  expect(communicator.broadcast_text(communicator.rank() == 0 ? "" : "no", 0).empty(), communicator,
         "an empty broadcast text is not empty");
  expect(communicator.all_reduce(std::int64_t{communicator.rank()}, ReduceOp::max) == root,
         communicator, "the maximum of one number is wrong");
  expect(communicator.all_reduce(0.5, ReduceOp::sum) == 0.5 * communicator.size(), communicator,
         "the sum of one double is wrong");
}

std::vector<float> task_values(std::uint64_t step, std::uint64_t task, std::uint64_t tensor,
                               std::size_t size) {
  Random random(7, "task", step, task, tensor);
  std::vector<float> values(size);
  for (float& value : values) {
    const int shift = -static_cast<int>(random.below(40));
    value = static_cast<float>(std::ldexp(random.normal(), shift));
  }
  // Some tasks jump over the bound of the step before, far enough for the second accumulator.
  if (step == 1 && task % 3 == 1 && size > 0) values[size / 2] = std::ldexp(1.5F, 30);
  return values;
}

}  // namespace

std::string exact_sum_bits(Communicator& communicator) {
  constexpr std::int64_t kTasks = 7;
  const std::vector<std::size_t> sizes = {3001, 0, 5, 70000};
  ExactAccumulator accumulator(sizes, kTasks);
  std::string text;
  for (std::uint64_t step = 0; step < 3; ++step) {
    accumulator.begin_step();
    for (std::int64_t task = 0; task < kTasks; ++task) {
      // Rank 0 has more than the others, the last of three and more has none.
      const int busy = std::max(1, communicator.size() - (communicator.size() >= 3 ? 1 : 0));
      const int owner = task < 2 ? 0 : static_cast<int>(task) % busy;
      if (owner != communicator.rank()) continue;
      for (std::size_t t = 0; t < sizes.size(); ++t) {
        accumulator.add(static_cast<int>(t),
                        task_values(step, static_cast<std::uint64_t>(task), t, sizes[t]));
      }
    }
    const ExactStep result = accumulator.reduce(communicator);
    text += result.bad ? "skipped " : "good ";
    text += std::to_string(result.spilled_tensors);
    for (const std::int32_t exponent : accumulator.exponents().exponents)
      text += ' ' + std::to_string(exponent);
    text += '\n';
    for (std::size_t t = 0; t < sizes.size() && !result.bad; ++t) {
      std::vector<float> sums(sizes[t]);
      accumulator.read(static_cast<int>(t), 1.0 / 3, sums);
      for (const float sum : sums) {
        char word[16];
        std::snprintf(word, sizeof word, "%08x\n", std::bit_cast<std::uint32_t>(sum));
        text += word;
      }
    }
  }
  return text;
}

std::vector<std::pair<std::string, std::function<void(Communicator&)>>> collective_checks() {
  return {{"place", place},
          {"all_reduce of int64", all_reduce<std::int64_t>},
          {"all_reduce of float", all_reduce<float>},
          {"all_reduce of double", all_reduce<double>},
          {"large integers", large_integers},
          {"started all_reduce", started_all_reduce},
          {"broadcast", broadcast},
          {"reduce_scatter", reduce_scatter},
          {"all_gather", all_gather},
          {"messages", messages},
          {"blocking messages", blocking_messages},
          {"texts", texts}};
}

}  // namespace ddl::test
