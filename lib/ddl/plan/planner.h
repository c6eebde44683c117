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
Plan make_plan(const PlanRequest& request);

// The table of `ddl-plan --explain`.
std::string explain_plan(const Plan& plan);

// Another number of workers: tasks are dealt again in proportion to planned rates; numerics stay.
// Workers beyond the planned ones get the mean planned rate.
Plan deal_again(const Plan& plan, int workers);

}  // namespace ddl
