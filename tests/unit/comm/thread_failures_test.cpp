// Ranks that throw, leave, abort or disagree: the others get an error, and nobody waits for ever.
#include "ddl/base/error.h"
#include "ddl/comm/thread_communicator.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using testing::HasSubstr;

// Everything that can wait for another rank.
const std::vector<std::pair<std::string, std::function<void(Communicator&)>>>& waiting_calls() {
  static const std::vector<std::pair<std::string, std::function<void(Communicator&)>>> calls = {
      {"barrier", [](Communicator& c) { c.barrier(); }},
      {"broadcast",
       [](Communicator& c) {
         std::vector<std::byte> buffer(3);
         c.broadcast(buffer, 0);
       }},
      {"all_reduce", [](Communicator& c) { c.all_reduce(std::int64_t{1}, ReduceOp::sum); }},
      {"reduce_scatter",
       [](Communicator& c) {
         const std::vector<std::size_t> counts(static_cast<std::size_t>(c.size()), 1);
         std::vector<std::int64_t> send(counts.size()), receive(1);
         c.reduce_scatter(send, receive, counts);
       }},
      {"all_gather", [](Communicator& c) { c.all_gather_text("text"); }},
      {"start_all_reduce",
       [](Communicator& c) {
         std::vector<std::int64_t> buffer(4);
         c.start_all_reduce(std::span(buffer), ReduceOp::sum)->wait();
       }},
      {"test",
       [](Communicator& c) {
         std::vector<std::int64_t> buffer(4);
         const auto request = c.start_all_reduce(std::span(buffer), ReduceOp::sum);
         while (!request->test()) std::this_thread::yield();
       }},
      {"receive",
       [](Communicator& c) {
         std::vector<std::byte> buffer(1);
         c.receive(buffer, 1, 5);
       }},
      {"start_receive",
       [](Communicator& c) {
         std::vector<std::byte> buffer(1);
         const auto request = c.start_receive(buffer, 1, 5);
         while (!request->test()) std::this_thread::yield();
       }},
  };
  return calls;
}

// Runs three ranks; rank 1 does `culprit`, the others the call. Returns how many others threw.
int others_that_failed(const std::function<void(Communicator&)>& call,
                       const std::function<void(Communicator&)>& culprit) {
  std::atomic<int> failed{0};
  try {
    run_ranks(3, [&](Communicator& communicator) {
      if (communicator.rank() == 1) {
        culprit(communicator);
        return;
      }
      try {
        call(communicator);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::failure);
        EXPECT_EQ(error.rank(), communicator.rank());
        ++failed;
        throw;
      }
    });
  } catch (const std::exception&) {
  }
  return failed;
}

TEST(ThreadFailures, OneRankThrows) {
  for (const auto& [name, call] : waiting_calls()) {
    EXPECT_EQ(others_that_failed(call, [](Communicator&) { throw std::runtime_error("lost"); }), 2)
        << name;
    // After some work together, and after the others are waiting.
    EXPECT_EQ(others_that_failed(
                  [&](Communicator& c) {
                    c.barrier();
                    call(c);
                  },
                  [](Communicator& c) {
                    c.barrier();
                    std::this_thread::sleep_for(std::chrono::milliseconds(5));
                    throw std::runtime_error("lost");
                  }),
              2)
        << name;
  }
}

TEST(ThreadFailures, TheFirstErrorIsRethrown) {
  for (int trial = 0; trial < 20; ++trial) {
    try {
      run_ranks(4, [](Communicator& communicator) {
        if (communicator.rank() == 2) throw bad_input("the shard cannot be read");
        communicator.barrier();
      });
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_THAT(error.what(), HasSubstr("the shard cannot be read"));
    }
  }
}

TEST(ThreadFailures, OneRankLeavesEarly) {
  for (const auto& [name, call] : waiting_calls())
    EXPECT_EQ(others_that_failed(call, [](Communicator&) {}), 2) << name;
}

TEST(ThreadFailures, OneRankAborts) {
  for (const auto& [name, call] : waiting_calls()) {
    EXPECT_EQ(others_that_failed(call, [](Communicator& c) { c.abort(3); }), 2) << name;
  }
  auto ranks = make_thread_communicators(2);
  ranks[0]->abort(3);
  try {
    ranks[1]->barrier();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 0 aborted with exit code 3"));
  }
}

TEST(ThreadFailures, ADestroyedCommunicatorFreesTheOthers) {
  auto ranks = make_thread_communicators(2);
  std::thread leaver([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ranks[1].reset();
  });
  EXPECT_THROW(ranks[0]->barrier(), Error);
  leaver.join();
}

// Its buffer may be gone when the last rank comes to write the sums.
TEST(ThreadFailures, ADroppedRequestEndsTheOthers) {
  auto ranks = make_thread_communicators(2);
  {
    std::vector<std::int64_t> buffer(1000);
    ranks[1]->start_all_reduce(std::span(buffer), ReduceOp::sum);
  }
  std::vector<std::int64_t> buffer(1000);
  try {
    ranks[0]->all_reduce(std::span(buffer), ReduceOp::sum);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1 gave up its all_reduce"));
  }
}

// What a rank sent before it left arrives all the same, and a finished collective stays finished.
TEST(ThreadFailures, WorkDoneBeforeLeavingCounts) {
  run_ranks(2, [](Communicator& communicator) {
    std::vector<std::byte> message(1, std::byte{9});
    if (communicator.rank() == 1) {
      communicator.send(message, 0, 1);
      communicator.barrier();
      return;
    }
    communicator.barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::vector<std::byte> got(1);
    communicator.receive(got, 1, 1);
    EXPECT_EQ(got, message);
  });
}

void expect_all_fail(int ranks, const std::string& words,
                     const std::function<void(Communicator&)>& body) {
  std::atomic<int> failed{0};
  run_ranks(ranks, [&](Communicator& communicator) {
    try {
      body(communicator);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::failure);
      EXPECT_THAT(error.what(), HasSubstr(words));
      ++failed;
      return;
    }
  });
  EXPECT_EQ(failed, ranks) << words;
}

TEST(ThreadFailures, DifferentSizesFailOnAllRanks) {
  expect_all_fail(3, "all_reduce", [](Communicator& c) {
    std::vector<std::int64_t> buffer(c.rank() == 2 ? 5 : 4);
    c.all_reduce(std::span(buffer), ReduceOp::sum);
  });
  expect_all_fail(2, "all_reduce", [](Communicator& c) {
    std::vector<float> buffer(c.rank() == 0 ? 0 : 1);
    c.all_reduce(std::span(buffer), ReduceOp::max);
  });
  expect_all_fail(2, "broadcast", [](Communicator& c) {
    std::vector<std::byte> buffer(c.rank() == 0 ? 2 : 3);
    c.broadcast(buffer, 0);
  });
  expect_all_fail(2, "all_gather", [](Communicator& c) {
    std::vector<std::byte> send(c.rank() == 0 ? 1 : 2), receive(3);
    c.all_gather(send, receive, std::vector<std::size_t>{send.size(), 3 - send.size()});
  });
}

TEST(ThreadFailures, DifferentCallsFailOnAllRanks) {
  expect_all_fail(2, "barrier", [](Communicator& c) {
    if (c.rank() == 0) {
      c.barrier();
    } else {
      c.all_reduce(1.0, ReduceOp::sum);
    }
  });
  expect_all_fail(2, "all_reduce", [](Communicator& c) {
    c.all_reduce(std::int64_t{1}, c.rank() == 0 ? ReduceOp::max : ReduceOp::min);
  });
  expect_all_fail(2, "all_reduce", [](Communicator& c) {
    if (c.rank() == 0) {
      c.all_reduce(1.0, ReduceOp::sum);
    } else {
      c.all_reduce(std::int64_t{1}, ReduceOp::sum);
    }
  });
  expect_all_fail(3, "broadcast", [](Communicator& c) {
    std::vector<std::byte> buffer(2);
    c.broadcast(buffer, c.rank() == 0 ? 0 : 1);
  });
}

TEST(ThreadFailures, CountsThatDoNotFitTheBuffers) {
  expect_all_fail(2, "reduce_scatter", [](Communicator& c) {
    std::vector<std::int64_t> send(3), receive(1);
    c.reduce_scatter(send, receive, std::vector<std::size_t>{1, 1});
  });
  expect_all_fail(2, "all_gather", [](Communicator& c) {
    std::vector<std::byte> send(1), receive(2);
    c.all_gather(send, receive, std::vector<std::size_t>{1, 1, 0});
  });
  expect_all_fail(2, "all_gather", [](Communicator& c) {
    std::vector<std::byte> send(2), receive(2);
    c.all_gather(send, receive, std::vector<std::size_t>{1, 1});
  });
}

TEST(ThreadFailures, ReceivingAnotherSizeThanWasSent) {
  run_ranks(2, [](Communicator& communicator) {
    std::vector<std::byte> buffer(communicator.rank() == 0 ? 4 : 2);
    if (communicator.rank() == 0) {
      communicator.send(buffer, 1, 0);
      return;
    }
    EXPECT_THROW(communicator.receive(buffer, 0, 0), Error);
  });
}

TEST(ThreadFailures, RanksThatDoNotExist) {
  run_ranks(2, [](Communicator& communicator) {
    std::vector<std::byte> buffer(1);
    for (const int rank : {-1, 2}) {
      EXPECT_THROW(communicator.send(buffer, rank, 0), Error);
      EXPECT_THROW(communicator.receive(buffer, rank, 0), Error);
      EXPECT_THROW(communicator.broadcast(buffer, rank), Error);
      EXPECT_THROW(communicator.start_send(buffer, rank, 0), Error);
      EXPECT_THROW(communicator.start_receive(buffer, rank, 0), Error);
    }
  });
  EXPECT_THROW(make_thread_communicators(0), Error);
  EXPECT_THROW(make_thread_communicators(-1), Error);
}

}  // namespace
}  // namespace ddl
