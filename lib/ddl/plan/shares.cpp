#include "ddl/plan/shares.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

namespace ddl {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// One worker, seen as rounds of `lanes` tasks: round k is done at finish(k), which never falls with
// k. All comparisons are between such computed values, so that the result is exact for them.
struct Rounds {
  double fixed, task;
  std::int64_t lanes, limit;  // limit: tasks it may take at all

  double finish(std::int64_t round) const {
    return round == 0 ? fixed : fixed + static_cast<double>(round) * task;
  }
  std::int64_t tasks_of(std::int64_t rounds) const {
    return rounds >= (limit + lanes - 1) / lanes ? limit : rounds * lanes;
  }
  // Rounds done by `time` (strictly before it, if `before`).
  std::int64_t done(double time, bool before) const {
    const std::int64_t most = (limit + lanes - 1) / lanes;
    const auto in_time = [&](std::int64_t round) {
      return before ? finish(round) < time : finish(round) <= time;
    };
    if (most == 0 || !in_time(1)) return 0;
    if (in_time(most)) return most;
    std::int64_t low = 1, high = most;  // in time, not in time
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (in_time(middle) ? low : high) = middle;
    }
    return low;
  }
};

std::vector<Rounds> checked(std::int64_t tasks, std::span<const WorkerSpeed> workers) {
  if (tasks < 0) throw bad_input("a step of " + std::to_string(tasks) + " tasks");
  if (workers.empty())
    throw bad_input("there are no workers to share " + std::to_string(tasks) + " tasks");
  std::vector<Rounds> out;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    const WorkerSpeed& worker = workers[i];
    const std::string who = "worker " + std::to_string(i) + ": ";
    if (!(worker.task_seconds > 0))
      throw bad_input(who + "a task takes " + std::to_string(worker.task_seconds) +
                      " s, expected more than 0");
    if (!(worker.fixed_seconds >= 0) || !std::isfinite(worker.fixed_seconds))
      throw bad_input(who + "a fixed time of " + std::to_string(worker.fixed_seconds) +
                      " s, expected a finite time of at least 0");
    if (worker.lanes < 1)
      throw bad_input(who + std::to_string(worker.lanes) + " lanes, expected at least 1");
    const std::int64_t limit =
        worker.maximum_tasks < 0 ? tasks : std::min(tasks, worker.maximum_tasks);
    out.push_back({worker.fixed_seconds, worker.task_seconds, worker.lanes,
                   std::isfinite(worker.task_seconds) ? limit : 0});
  }
  return out;
}

std::int64_t capacity(const std::vector<Rounds>& workers, std::int64_t tasks, double time) {
  std::int64_t sum = 0;
  for (const Rounds& worker : workers) {
    sum += worker.tasks_of(worker.done(time, false));
    if (sum >= tasks) return tasks;
  }
  return sum;
}

// The smallest double that holds(time), which must hold for all larger ones and for the largest:
// doubles that are not negative have the order of their bits.
template <class Condition>
double smallest_time(const Condition& holds) {
  auto low = std::bit_cast<std::uint64_t>(0.0);
  auto high = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::max());
  if (holds(0.0)) return 0.0;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (holds(std::bit_cast<double>(middle)) ? high : low) = middle;
  }
  return std::bit_cast<double>(high);
}

// The time at which workers that could split tasks at will would be done.
double fractional_finish(const std::vector<Rounds>& workers, std::int64_t tasks) {
  return smallest_time([&](double time) {
    double sum = 0;
    for (const Rounds& worker : workers)
      if (time > worker.fixed && worker.limit > 0)
        sum += std::min(static_cast<double>(worker.limit),
                        (time - worker.fixed) / worker.task * static_cast<double>(worker.lanes));
    // Sums of fractions round: without the allowance an even split could miss by one bit.
    return sum >= static_cast<double>(tasks) * (1 - 1e-12);
  });
}

}  // namespace

Shares minimise_slowest_finish(std::int64_t tasks, std::span<const WorkerSpeed> speeds) {
  const std::vector<Rounds> workers = checked(tasks, speeds);
  Shares out;
  out.tasks.assign(workers.size(), 0);
  for (const Rounds& worker : workers)
    out.finish_seconds = std::max(out.finish_seconds, worker.fixed);
  if (tasks == 0) return out;
  const std::int64_t possible = capacity(workers, tasks, std::numeric_limits<double>::max());
  if (possible < tasks)
    throw bad_input("the workers can take " + std::to_string(possible) + " of the " +
                        std::to_string(tasks) + " tasks of a step",
                    "add workers, or make tasks smaller");

  const double best =
      smallest_time([&](double time) { return capacity(workers, tasks, time) >= tasks; });
  // Rounds that end before the best time are all needed; those that end at it share what is left.
  std::int64_t left = tasks;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    out.tasks[i] = workers[i].tasks_of(workers[i].done(best, true));
    left -= out.tasks[i];
  }
  std::vector<std::size_t> order(workers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return workers[a].task < workers[b].task; });
  for (const std::size_t i : order) {
    const std::int64_t more =
        std::min(left, workers[i].tasks_of(workers[i].done(best, false)) - out.tasks[i]);
    out.tasks[i] += more;
    left -= more;
  }
  out.finish_seconds = std::max(out.finish_seconds, best);
  double fractional = fractional_finish(workers, tasks);
  for (const Rounds& worker : workers) fractional = std::max(fractional, worker.fixed);
  out.rounding_loss = std::max(0.0, out.finish_seconds / fractional - 1);
  return out;
}

}  // namespace ddl
