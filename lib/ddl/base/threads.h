// Threads: how many this process may use, and a pool that carries exceptions home.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ddl {

// Processors this process may run on at once: the smaller of its affinity mask and its cgroup
// quota (v1 and v2, rounded down), at least 1. OMP_NUM_THREADS, when set to a positive number,
// wins. `source` (optional) receives a short reason: "affinity", "cgroup quota", "OMP_NUM_THREADS".
int available_threads(std::string* source = nullptr);
// The same from given figures: for tests. quota_cores <= 0 means none.
int threads_allowed(int affinity_cpus, double quota_cores, const char* omp_num_threads,
                    std::string* source);
// The smallest CPU quota, in cores, of this process's cgroups and their ancestors (v2 cpu.max, v1
// cpu.cfs_quota_us / cpu.cfs_period_us); 0 when there is none. Reads below `root`/proc and the
// mount points found there: tests give a folder.
double cgroup_quota_cores(const std::filesystem::path& root = "/");
// The share of one of `local_ranks` processes on this host, at least 1. OMP_NUM_THREADS is already
// a figure for one process and is not divided.
int threads_per_rank(int local_ranks, std::string* source = nullptr);

// A fixed number of threads, the caller of parallel_for() among them. The destructor joins.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  int size() const;
  // Runs body(i) for i in [0, count) on the calling thread and the threads - 1 others; returns when
  // all are done. The first exception (lowest index among those seen) is rethrown; the remaining
  // indices are skipped once one has failed. Not re-entrant: a call from
  // inside a body, or from a second thread at the same time, is failure.
  void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ddl
