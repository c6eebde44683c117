// Every forward op against the reference in double, on random odd shapes.
#include "ddl/base/error.h"

#include <cctype>

#include "unit/compute/problem.h"
#include <gtest/gtest.h>

namespace ddl::test {
namespace {

class Forward : public testing::TestWithParam<OpCase> {};

TEST_P(Forward, MatchesReference) {
  for (const std::uint64_t seed : {1, 2}) {
    Problem problem(seed);
    problem.graph.outputs = {GetParam().build(problem)};
    const auto want = reference_run(problem.graph, problem.reference_feeds());
    const auto got = problem.execute();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_LT(relative_error(got[0], want[0]), GetParam().tolerance) << GetParam().name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Forward, testing::ValuesIn(op_cases()), [](const auto& parameter) {
  std::string name;
  for (const char c : parameter.param.name) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
});

}  // namespace
}  // namespace ddl::test
