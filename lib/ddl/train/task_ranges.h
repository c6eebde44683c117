// Which tasks of a step a worker runs. Pure functions of the plan; who runs a task never changes a
// bit of the result.
#pragma once

#include "ddl/artifact/plan.h"

#include <cstdint>
#include <vector>

namespace ddl {

// bad_input unless the workers' ranges, in order of rank, cut [0, tasks per step) without gap or
// overlap. Workers may have no task.
void require_whole_ranges(const Plan& plan);

// The planned range for a step of `tasks_now` tasks instead of `tasks_planned` (the last of an
// epoch): both borders are scaled by tasks_now / tasks_planned and rounded down, so that the ranges
// still cut the step without gap, in the planned proportion.
TaskRange scaled_range(const TaskRange& planned, std::int64_t tasks_planned,
                       std::int64_t tasks_now);

}  // namespace ddl
