// Parts that several artifacts hold: numerics (plan, run, checkpoint), recipe (run, checkpoint),
// the plan itself (run). Inside this folder only.
#pragma once

#include "ddl/artifact/json.h"
#include "ddl/artifact/plan.h"
#include "ddl/artifact/run.h"

#include <filesystem>
#include <string>

namespace ddl::artifact {

Json numerics_json(const Numerics& numerics);
Numerics read_numerics(const Json& json, const std::filesystem::path& file,
                       const std::string& pointer);

Json recipe_json(const TrainingRecipe& recipe);
TrainingRecipe read_recipe(const Json& json, const std::filesystem::path& file,
                           const std::string& pointer);

// With "format" and "version". Reading checks the rules of a plan; `pointer` is where it stands.
Json plan_json(const Plan& plan);
Plan read_plan_json(const Json& json, const std::filesystem::path& file,
                    const std::string& pointer);

}  // namespace ddl::artifact
