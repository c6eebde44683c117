// Threads: how many this process may use, and a pool that carries exceptions home.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
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
// The share of one of `local_ranks` processes on this host, at least 1.
int threads_per_rank(int local_ranks, std::string* source = nullptr);

// Fixed number of threads that run submitted jobs. The destructor finishes queued jobs and joins.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  ~ThreadPool();
  int size() const;
  // Runs body(i) for i in [0, count), also on the calling thread when `threads` is 1; returns when
  // all are done. The first exception (lowest index among those seen) is rethrown; the remaining
  // indices are skipped once one has failed. Not re-entrant.
  void parallel_for(std::size_t count, const std::function<void(std::size_t)>& body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ddl
