// ddl-plan: from measured rates, a model and a data set to a plan. Computes on plain structs; needs
// neither MPI nor a device.
#pragma once

#include "ddl/artifact/cluster.h"
#include "ddl/artifact/dataset.h"
#include "ddl/artifact/plan.h"
#include "ddl/model/cost.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddl {

struct PlanRequest {
  Cluster cluster;
  DatasetManifest dataset;
  std::string dataset_path, model;
  std::map<std::string, std::string> model_options;
  std::string model_hash;
  ModelCost cost;
  Numerics numerics;                // what the user asked for
  bool task_samples_given = false;  // else chosen: the planner proposes b
  std::vector<double> rates;        // --rates 2,1: relative speeds by hand, instead of measured
};

// Throws bad_input for requests that cannot be planned (fewer samples than a global batch, …).
//
// A task size that is not given is chosen among powers of two and measured sizes. When several
// sizes were measured on every worker: of those in their range that leave at least 2 tasks for each
// lane, the smallest whose step is within 2 % of the shortest (small tasks are easier to share and
// to move). Else the largest that leaves 4 tasks for each lane; else, 1.
Plan make_plan(const PlanRequest& request);

// The table of `ddl-plan --explain`.
std::string explain_plan(const Plan& plan);

// Another number of workers: tasks are dealt again in proportion to planned rates; numerics stay.
// Workers beyond the planned ones get the mean planned rate.
Plan deal_again(const Plan& plan, int workers);

// `count` workers of one node of which nothing is known but that they are equal: for planning
// without a profile. Plans made from it predict no times.
Cluster equal_workers(int count);

// The first `count` workers of a cluster; bad_input when there are fewer.
Cluster first_workers(const Cluster& cluster, int count);

}  // namespace ddl
