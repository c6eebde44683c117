// A step on paper: shares and times that one choice of workers, task size and reduction comes to.
#pragma once

#include "ddl/plan/cost_model.h"
#include "ddl/plan/planner.h"
#include "ddl/plan/shares.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddl {

struct Sketch {
  std::vector<WorkerSpeed> speeds;
  Shares shares;
  Prediction predicted;

  double busy_seconds(std::size_t worker) const;  // computing, in one step
};

// Input is read while tasks run; the reduction and the update follow them.
Sketch sketch_step(const PlanRequest& request, const std::vector<WorkerModel>& workers,
                   std::int64_t task_samples, const std::string& reduction);

}  // namespace ddl
