#include "ddl/base/threads.h"

#include <atomic>
#include <chrono>
#include <fstream>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

namespace fs = std::filesystem;
using test::ScopedEnvironment;

struct Allowed {
  int threads;
  std::string source;
  bool operator==(const Allowed&) const = default;
};

Allowed allowed(int affinity, double quota, const char* omp) {
  Allowed result;
  result.threads = threads_allowed(affinity, quota, omp, &result.source);
  return result;
}

TEST(ThreadsAllowed, TheSmallerOfAffinityAndQuota) {
  EXPECT_EQ(allowed(8, 0, nullptr), (Allowed{8, "affinity"}));
  EXPECT_EQ(allowed(8, -1, nullptr), (Allowed{8, "affinity"}));
  EXPECT_EQ(allowed(8, 16, nullptr), (Allowed{8, "affinity"}));
  EXPECT_EQ(allowed(8, 8, nullptr), (Allowed{8, "affinity"}));
  EXPECT_EQ(allowed(8, 2, nullptr), (Allowed{2, "cgroup quota"}));
  EXPECT_EQ(allowed(8, 2.9, nullptr), (Allowed{2, "cgroup quota"}));
  EXPECT_EQ(allowed(8, 1e300, nullptr), (Allowed{8, "affinity"}));
}

TEST(ThreadsAllowed, NeverLessThanOne) {
  EXPECT_EQ(allowed(8, 0.5, nullptr), (Allowed{1, "cgroup quota"}));
  EXPECT_EQ(allowed(0, 0, nullptr), (Allowed{1, "affinity"}));
}

TEST(ThreadsAllowed, OmpNumThreadsWinsWhenItIsANumber) {
  EXPECT_EQ(allowed(8, 2, "5"), (Allowed{5, "OMP_NUM_THREADS"}));
  EXPECT_EQ(allowed(8, 2, "16"), (Allowed{16, "OMP_NUM_THREADS"}));
  EXPECT_EQ(allowed(8, 2, "4,2"), (Allowed{4, "OMP_NUM_THREADS"}));
  for (const char* text : {"", "0", "-3", "four", "4x", "99999999999"}) {
    EXPECT_EQ(allowed(8, 2, text), (Allowed{2, "cgroup quota"})) << text;
  }
  EXPECT_EQ(threads_allowed(8, 2, "5", nullptr), 5);
}

TEST(ThreadsPerRank, SharesWhatThereIs) {
  const ScopedEnvironment none("OMP_NUM_THREADS", nullptr);
  const int all = available_threads();
  EXPECT_GE(all, 1);
  EXPECT_EQ(threads_per_rank(1), all);
  EXPECT_EQ(threads_per_rank(0), all);
  EXPECT_EQ(threads_per_rank(1'000'000), 1);
  EXPECT_EQ(threads_per_rank(2), std::max(1, all / 2));
}

TEST(ThreadsPerRank, OmpNumThreadsIsAlreadyForOneProcess) {
  const ScopedEnvironment six("OMP_NUM_THREADS", "6");
  std::string source;
  EXPECT_EQ(available_threads(), 6);
  EXPECT_EQ(threads_per_rank(3, &source), 6);
  EXPECT_EQ(source, "OMP_NUM_THREADS");
}

// A machine made of files.
class Cgroups : public testing::Test {
 protected:
  void put(const std::string& path, const std::string& text) {
    const fs::path full = folder_ / path;
    fs::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  void version_2(const std::string& cgroup, const std::string& root = "/") {
    put("proc/self/cgroup", "0::" + cgroup + "\n");
    put("proc/self/mountinfo",
        "22 1 0:20 / /proc rw,nosuid - proc proc rw\n"
        "30 1 0:26 " +
            root + " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n");
  }
  void version_1(const std::string& cgroup, const std::string& root = "/") {
    put("proc/self/cgroup", "5:memory:/elsewhere\n4:cpu,cpuacct:" + cgroup + "\n3:cpuset:/\n");
    put("proc/self/mountinfo",
        "31 1 0:27 " + root +
            " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
            "32 1 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  }
  double quota() const { return cgroup_quota_cores(folder_.path()); }
  test::TemporaryFolder folder_;
};

TEST_F(Cgroups, NoFilesMeansNoQuota) {
  EXPECT_EQ(quota(), 0);
}

TEST_F(Cgroups, Version2) {
  version_2("/user/job");
  EXPECT_EQ(quota(), 0);
  put("sys/fs/cgroup/user/job/cpu.max", "250000 100000\n");
  EXPECT_EQ(quota(), 2.5);
  put("sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 0);
}

TEST_F(Cgroups, Version2AncestorsBindToo) {
  version_2("/user/job");
  put("sys/fs/cgroup/user/job/cpu.max", "400000 100000\n");
  put("sys/fs/cgroup/user/cpu.max", "150000 50000\n");
  EXPECT_EQ(quota(), 3);
  put("sys/fs/cgroup/user/cpu.max", "max 100000\n");
  EXPECT_EQ(quota(), 4);
  put("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_EQ(quota(), 1);
  put("sys/fs/cgroup/other/cpu.max", "1000 100000\n");
  EXPECT_EQ(quota(), 1);
}

TEST_F(Cgroups, Version2InAContainerSeesItsOwnRoot) {
  version_2("/docker/abc", "/docker/abc");
  put("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_EQ(quota(), 3);
  version_2("/../../host");
  EXPECT_EQ(quota(), 3);
  version_2("/");
  EXPECT_EQ(quota(), 3);
}

TEST_F(Cgroups, Version1) {
  version_1("/docker/abc");
  put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(quota(), 0);
  put("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "150000\n");
  EXPECT_EQ(quota(), 1.5);
  put("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "50000\n");
  put("sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(quota(), 1);
}

TEST_F(Cgroups, Version1InAContainerSeesItsOwnRoot) {
  version_1("/docker/abc", "/docker/abc");
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
  EXPECT_EQ(quota(), 2);
}

TEST_F(Cgroups, NonsenseIsNoQuota) {
  version_2("/job");
  for (const char* text : {"", "max", "100000", "x y", "100000 0", "-5 100000", "0 100000"}) {
    put("sys/fs/cgroup/job/cpu.max", text);
    EXPECT_EQ(quota(), 0) << text;
  }
  put("proc/self/cgroup", "nonsense\n:\n");
  EXPECT_EQ(quota(), 0);
}

class ThreadPools : public testing::TestWithParam<int> {};

TEST_P(ThreadPools, EveryIndexRunsOnce) {
  ThreadPool pool(GetParam());
  EXPECT_EQ(pool.size(), GetParam());
  for (const std::size_t count : {0u, 1u, 2u, 7u, 1000u}) {
    std::vector<std::atomic<int>> runs(count);
    pool.parallel_for(count, [&](std::size_t i) { ++runs[i]; });
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(runs[i], 1) << i << " of " << count;
  }
}

TEST_P(ThreadPools, ExceptionComesHomeAndThePoolLivesOn) {
  ThreadPool pool(GetParam());
  std::atomic<int> runs{0};
  try {
    pool.parallel_for(100'000, [&](std::size_t i) {
      ++runs;
      if (i == 3) throw std::runtime_error("from 3");
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "from 3");
  }
  EXPECT_LE(runs, 100'000);
  std::atomic<int> after{0};
  pool.parallel_for(10, [&](std::size_t) { ++after; });
  EXPECT_EQ(after, 10);
}

TEST_P(ThreadPools, TheLowestFailedIndexIsReported) {
  ThreadPool pool(GetParam());
  // Both indices begin before either throws; alone, 0 comes first anyhow. The pause makes each of
  // the two orders likely, and either must give the same answer.
  const int together = std::min(GetParam(), 2);
  for (const std::size_t late : {std::size_t{0}, std::size_t{1}}) {
    std::atomic<int> begun{0};
    try {
      pool.parallel_for(2, [&](std::size_t i) {
        ++begun;
        while (begun < together) std::this_thread::yield();
        if (i == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        throw std::runtime_error(std::to_string(i));
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "0");
    }
  }
}

TEST_P(ThreadPools, ReentryIsAnErrorAndNoDeadlock) {
  ThreadPool pool(GetParam());
  const Error error = test::error_of([&] {
    pool.parallel_for(2, [&](std::size_t) { pool.parallel_for(1, [](std::size_t) {}); });
  });
  EXPECT_EQ(error.kind(), ErrorKind::failure);
  pool.parallel_for(2, [](std::size_t) {});
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadPools, testing::Values(1, 2, 5));

TEST(ThreadPool, OneThreadIsTheCaller) {
  ThreadPool pool(1);
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<std::size_t> order;
  pool.parallel_for(4, [&](std::size_t i) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    order.push_back(i);
  });
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 3));
}

TEST(ThreadPool, RemainingIndicesAreSkippedAfterAFailure) {
  ThreadPool pool(1);
  int runs = 0;
  EXPECT_THROW(pool.parallel_for(10,
                                 [&](std::size_t) {
                                   ++runs;
                                   throw std::runtime_error("x");
                                 }),
               std::runtime_error);
  EXPECT_EQ(runs, 1);
}

TEST(ThreadPool, AllThreadsTakePart) {
  ThreadPool pool(3);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> begun{0};
  pool.parallel_for(3, [&](std::size_t) {
    {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    }
    ++begun;
    while (begun < 3) std::this_thread::yield();
  });
  EXPECT_EQ(seen.size(), 3u);
}

TEST(ThreadPool, NeedsAThread) {
  EXPECT_EQ(test::error_of([] { ThreadPool(0); }).kind(), ErrorKind::bad_input);
  EXPECT_EQ(test::error_of([] { ThreadPool(-1); }).kind(), ErrorKind::bad_input);
}

}  // namespace
}  // namespace ddl
