#include "ddl/train/task_ranges.h"

#include "ddl/base/error.h"

#include <string>

namespace ddl {

void require_whole_ranges(const Plan& plan) {
  std::int64_t next = 0;
  for (std::size_t i = 0; i < plan.workers.size(); ++i) {
    const TaskRange& range = plan.workers[i].tasks;
    const std::string pointer = "/workers/" + std::to_string(i) + "/tasks";
    if (plan.workers[i].rank != static_cast<int>(i))
      throw bad_input(
          "worker " + std::to_string(i) + " has rank " + std::to_string(plan.workers[i].rank),
          "list the workers in order of rank, from 0")
          .with_pointer("/workers/" + std::to_string(i) + "/rank");
    if (range.count < 0 || range.first != next)
      throw bad_input("tasks of worker " + std::to_string(i) + " begin at " +
                          std::to_string(range.first) + ", expected " + std::to_string(next),
                      "task ranges must follow one another; plan again")
          .with_pointer(pointer);
    next += range.count;
  }
  if (next != plan.numerics.tasks_per_step())
    throw bad_input("the workers have " + std::to_string(next) + " tasks of a step's " +
                        std::to_string(plan.numerics.tasks_per_step()),
                    "plan again")
        .with_pointer("/workers");
}

TaskRange scaled_range(const TaskRange& planned, std::int64_t tasks_planned,
                       std::int64_t tasks_now) {
  const std::int64_t begin = planned.first * tasks_now / tasks_planned;
  const std::int64_t end = (planned.first + planned.count) * tasks_now / tasks_planned;
  return {begin, end - begin};
}

}  // namespace ddl
