// Shares of tasks for unequal workers that minimise the slowest finish, exactly.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ddl {

// A worker runs `lanes` tasks at a time, each `task_seconds` long, after `fixed_seconds` of its
// own:
//   finish(n) = fixed_seconds + ceil(n / lanes) * task_seconds
// maximum_tasks bounds n (memory); negative: no bound.
struct WorkerSpeed {
  double task_seconds = 1;
  int lanes = 1;
  double fixed_seconds = 0;
  std::int64_t maximum_tasks = -1;
};

struct Shares {
  std::vector<std::int64_t> tasks;  // per worker, sums to the total
  double finish_seconds = 0;        // slowest
  double rounding_loss = 0;         // finish over the fractional optimum, minus 1
};

// Ties go to the faster worker, then the lower rank, so that the result is a pure function of
// input.
Shares minimise_slowest_finish(std::int64_t tasks, std::span<const WorkerSpeed> workers);

}  // namespace ddl
