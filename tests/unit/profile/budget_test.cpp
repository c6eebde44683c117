#include "ddl/profile/budget.h"

#include "unit/profile/support.h"
#include <gtest/gtest.h>

namespace ddl::profile {
namespace {

// A clock that only the probe moves.
struct HandClock {
  std::shared_ptr<double> now = std::make_shared<double>(100.0);
  Clock clock() const {
    return [now = now] { return *now; };
  }
};

TEST(Repeat, StopsBeforeTheCallThatWouldOverrun) {
  for (const double length : {0.1, 0.25, 0.3, 0.9}) {
    HandClock time;
    const std::vector<double> values = repeat(time.clock(), {1.0, 1}, [&] {
      *time.now += length;
      return 7.0;
    });
    EXPECT_EQ(values.size(), static_cast<std::size_t>(1.0 / length + 1e-9)) << length;
    EXPECT_LE(*time.now - 100, 1 + 1e-9);
  }
}

TEST(Repeat, KeepsItsBounds) {
  HandClock time;
  int calls = 0;
  const auto slow = [&] {
    *time.now += 50;
    return static_cast<double>(++calls);
  };
  EXPECT_EQ(repeat(time.clock(), {1, 3}, slow), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(repeat(time.clock(), {0, 1}, slow).size(), 1U);
  EXPECT_EQ(repeat(time.clock(), {-5, 1}, slow).size(), 1U);
  // A clock that stands still would go on for ever without the upper bound.
  EXPECT_EQ(repeat(time.clock(), {1, 1, 40}, [] { return 0.0; }).size(), 40U);
}

TEST(Budget, WindowIsShareCapOrRest) {
  HandClock time;
  const Budget budget(time.clock(), 60);
  EXPECT_DOUBLE_EQ(budget.window(0.1, 100), 6);
  EXPECT_DOUBLE_EQ(budget.window(0.1, 2), 2);
  *time.now += 57;
  EXPECT_DOUBLE_EQ(budget.elapsed(), 57);
  EXPECT_DOUBLE_EQ(budget.window(0.1, 100), 3);
  *time.now += 10;
  EXPECT_EQ(budget.remaining(), 0);
  EXPECT_EQ(budget.window(0.1, 100), 0);
}

TEST(Repetitions, FitAndStayWithinBounds) {
  EXPECT_EQ(repetitions_in(1, 0.1, 3, 100), 10);
  EXPECT_EQ(repetitions_in(1, 5, 3, 100), 3);
  EXPECT_EQ(repetitions_in(1, 1e-9, 3, 100), 100);
  EXPECT_EQ(repetitions_in(1, 0, 3, 100), 100);
  EXPECT_EQ(repetitions_in(0, 0.1, 3, 100), 3);
}

TEST(MonotonicClock, NeverGoesBack) {
  const Clock clock = monotonic_clock();
  double last = clock();
  for (int i = 0; i < 1000; ++i) {
    const double now = clock();
    EXPECT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace ddl::profile
