// From a command line's words and files to a plan and back to a file: what ddl-plan does.
#pragma once

#include "ddl/artifact/plan.h"
#include "ddl/plan/planner.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ddl {

struct PlanCommand {
  std::filesystem::path cluster;  // "" for equal workers
  std::filesystem::path dataset;  // folder or dataset.json
  std::string model;              // a built-in name or an .onnx file
  std::map<std::string, std::string> model_options;
  Numerics numerics;
  std::int64_t task_samples = 0;  // 0: the planner chooses
  int workers = 0;                // --np; 0: all of the cluster
  std::vector<double> rates;      // --rates
  std::filesystem::path output;   // "-" for standard output
};

// Reads cluster, data set and model. Paths in the plan are relative to its file; absolute when it
// has none, or when only the root folder is common. Throws bad_input.
PlanRequest plan_request(const PlanCommand& command);

// The plan, as text or to the command's output; an existing file is bad_input unless `force`.
void put_plan(const Plan& plan, const std::filesystem::path& output, bool force);

}  // namespace ddl
