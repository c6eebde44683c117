// Every check of tests/support/collectives.h with ranks as threads. tests/cluster runs the same
// over MPI.
#include "support/collectives.h"

#include "ddl/comm/thread_communicator.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace ddl {
namespace {

TEST(Collectives, AllChecksOnOneToFiveRanks) {
  for (int ranks = 1; ranks <= 5; ++ranks) {
    for (const auto& [name, check] : test::collective_checks()) {
      SCOPED_TRACE(name);
      EXPECT_NO_THROW(run_ranks(ranks, check));
    }
  }
}

TEST(Collectives, ManyInARow) {
  run_ranks(3, [](Communicator& communicator) {
    for (std::int64_t i = 0; i < 2000; ++i)
      ASSERT_EQ(communicator.all_reduce(i + communicator.rank(), ReduceOp::sum), 3 * i + 3);
  });
}

TEST(Collectives, ExactSumsHaveTheSameBitsOnAnyNumberOfRanks) {
  std::string expected;
  for (int ranks = 1; ranks <= 5; ++ranks) {
    std::vector<std::string> bits(static_cast<std::size_t>(ranks));
    run_ranks(ranks, [&](Communicator& communicator) {
      bits[static_cast<std::size_t>(communicator.rank())] = test::exact_sum_bits(communicator);
    });
    if (ranks == 1) {
      expected = bits[0];
      EXPECT_NE(expected.find("good 3"), std::string::npos) << "no step spills";
      EXPECT_EQ(expected.find("skipped"), std::string::npos);
    }
    for (const std::string& of_rank : bits) EXPECT_TRUE(of_rank == expected) << ranks << " ranks";
  }
}

}  // namespace
}  // namespace ddl
