// Messages and overlapping calls between ranks that are threads; collectives_test.cpp has the rest.
#include "ddl/comm/thread_communicator.h"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using testing::ElementsAre;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

template <class T>
std::span<std::byte> writable_bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

// No rank may pass a barrier that another has not reached.
TEST(Messages, BarrierHoldsEveryone) {
  std::atomic<int> reached{0};
  run_ranks(4, [&](Communicator& communicator) {
    for (int round = 1; round <= 50; ++round) {
      ++reached;
      communicator.barrier();
      EXPECT_GE(reached.load(), 4 * round);
      communicator.barrier();
    }
  });
}

TEST(Messages, MessagesKeepOrderAndTags) {
  run_ranks(3, [](Communicator& communicator) {
    const int next = (communicator.rank() + 1) % 3, previous = (communicator.rank() + 2) % 3;
    for (std::int64_t i = 0; i < 5; ++i) {
      const std::vector<std::int64_t> message(static_cast<std::size_t>(i),
                                              100 * communicator.rank() + i);
      communicator.send(bytes_of(message), next, 7);
    }
    const std::vector<std::int64_t> other = {-1};
    communicator.send(bytes_of(other), next, 8);
    std::vector<std::int64_t> last(1);
    communicator.receive(writable_bytes_of(last), previous, 8);  // sent after those of tag 7
    EXPECT_THAT(last, ElementsAre(-1));
    for (std::int64_t i = 0; i < 5; ++i) {
      std::vector<std::int64_t> got(static_cast<std::size_t>(i));
      communicator.receive(writable_bytes_of(got), previous, 7);
      EXPECT_EQ(got, std::vector<std::int64_t>(static_cast<std::size_t>(i), 100 * previous + i));
    }
  });
}

TEST(Messages, MessagesToOneself) {
  run_ranks(2, [](Communicator& communicator) {
    const std::vector<std::int64_t> message = {communicator.rank(), 4};
    std::vector<std::int64_t> got(2);
    const auto receive = communicator.start_receive(writable_bytes_of(got), communicator.rank(), 1);
    communicator.send(bytes_of(message), communicator.rank(), 1);
    receive->wait();
    EXPECT_EQ(got, message);
  });
}

TEST(Messages, AsynchronousCallsOverlap) {
  run_ranks(3, [](Communicator& communicator) {
    const int next = (communicator.rank() + 1) % 3, previous = (communicator.rank() + 2) % 3;
    std::vector<std::int64_t> a(100, communicator.rank()), b(3, 10 + communicator.rank()), c(2);
    const auto first = communicator.start_all_reduce(std::span(a), ReduceOp::sum);
    const auto receive = communicator.start_receive(writable_bytes_of(c), previous, 1);
    const auto second = communicator.start_all_reduce(std::span(b), ReduceOp::max);
    const std::vector<std::int64_t> message = {communicator.rank(), -5};
    const auto send = communicator.start_send(bytes_of(message), next, 1);
    second->wait();
    while (!first->test()) std::this_thread::yield();
    first->wait();  // again is no error
    receive->wait();
    send->wait();
    EXPECT_TRUE(first->test() && second->test() && receive->test() && send->test());
    EXPECT_EQ(a, std::vector<std::int64_t>(100, 3));
    EXPECT_THAT(b, ElementsAre(12, 12, 12));
    EXPECT_THAT(c, ElementsAre(previous, -5));
  });
}

TEST(Messages, TextHelpers) {
  run_ranks(4, [](Communicator& communicator) {
    const std::string mine = communicator.rank() == 2
                                 ? ""
                                 : std::string("rank\0x", 6) + std::to_string(communicator.rank());
    const std::vector<std::string> all = communicator.all_gather_text(mine);
    ASSERT_EQ(all.size(), 4u);
    EXPECT_EQ(all[0], std::string("rank\0x0", 7));
    EXPECT_EQ(all[2], "");
    EXPECT_EQ(all[3], std::string("rank\0x3", 7));
    EXPECT_EQ(communicator.broadcast_text(communicator.rank() == 3 ? "from three" : "not this", 3),
              "from three");
    EXPECT_EQ(communicator.broadcast_text("", 0), "");
    EXPECT_EQ(communicator.all_reduce(std::int64_t{communicator.rank()}, ReduceOp::max), 3);
    EXPECT_EQ(communicator.all_reduce(0.5 * communicator.rank(), ReduceOp::sum), 3.0);
  });
}

}  // namespace
}  // namespace ddl
