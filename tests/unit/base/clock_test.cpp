#include "ddl/base/clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

TEST(Clock, TimestampIsIso8601InUtc) {
  EXPECT_THAT(utc_timestamp(),
              testing::MatchesRegex("20[0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:"
                                    "[0-6][0-9]Z"));
}

TEST(Clock, HostHasAName) {
  EXPECT_FALSE(host_name().empty());
}

TEST(Clock, StopwatchNeverRunsBackwards) {
  Stopwatch watch;
  const double first = watch.seconds();
  EXPECT_GE(first, 0.0);
  EXPECT_GE(watch.seconds(), first);
}

}  // namespace
}  // namespace ddl
