#include "ddl/plan/request.h"

#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/model/builtin.h"
#include "ddl/model/onnx.h"
#include "ddl/model/training.h"

namespace ddl {
namespace {

namespace fs = std::filesystem;

// As seen from the folder of the plan; links are resolved, since "..", too, follows the real
// folder.
std::string path_in_plan(const fs::path& path, const fs::path& output) {
  const fs::path target = fs::weakly_canonical(fs::absolute(path));
  if (output == "-") return target.string();
  const fs::path folder = fs::weakly_canonical(fs::absolute(output)).parent_path();
  const bool common = std::distance(target.begin(), target.end()) > 1 &&
                      *std::next(target.begin()) == *std::next(folder.begin());
  const fs::path relative = common ? target.lexically_relative(folder) : fs::path();
  return relative.empty() ? target.string() : relative.string();
}

Cluster chosen_cluster(const PlanCommand& command) {
  if (command.cluster.empty()) {
    if (command.workers > 0) return equal_workers(command.workers);
    if (!command.rates.empty()) return equal_workers(static_cast<int>(command.rates.size()));
    throw bad_input("neither --cluster nor --np says who the workers are",
                    "measure them with ddl-profile, or plan for --np N equal ones");
  }
  Cluster cluster = read_cluster(command.cluster);
  return command.workers > 0 ? first_workers(cluster, command.workers) : cluster;
}

Graph chosen_model(const PlanCommand& command, const DatasetManifest& dataset) {
  if (is_builtin_model(command.model))
    return build_model(command.model, command.model_options, model_interface(dataset), 1,
                       command.numerics.seed);
  if (!fs::exists(command.model)) {
    std::vector<std::string_view> names;
    for (const BuiltinModel& one : builtin_models()) names.push_back(one.name);
    const std::string near = nearest_name(command.model, names.data(), names.data() + names.size());
    throw bad_input(
        "--model " + command.model + " is neither a built-in model nor a file",
        near.empty() ? "ddl-model list shows what is built in" : "did you mean " + near + "?");
  }
  if (!command.model_options.empty())
    throw bad_input("--set is for built-in models; " + command.model + " is a file");
  return load_onnx(command.model).graph;
}

}  // namespace

PlanRequest plan_request(const PlanCommand& command) {
  PlanRequest request;
  request.cluster = chosen_cluster(command);
  const fs::path manifest =
      fs::is_directory(command.dataset) ? command.dataset / "dataset.json" : command.dataset;
  request.dataset = read_dataset_manifest(manifest);
  const Graph graph = chosen_model(command, request.dataset);
  request.model_hash = graph.structure_hash();
  request.cost = model_cost(graph, default_loss(request.dataset));
  fs::path folder = fs::absolute(manifest).parent_path();
  request.dataset_path = path_in_plan(folder, command.output);
  request.model =
      is_builtin_model(command.model) ? command.model : path_in_plan(command.model, command.output);
  request.model_options = command.model_options;
  request.numerics = command.numerics;
  request.task_samples_given = command.task_samples != 0;
  if (request.task_samples_given) request.numerics.task_samples = command.task_samples;
  request.rates = command.rates;
  return request;
}

void put_plan(const Plan& plan, const fs::path& output, bool force) {
  OutputFile file(output, force);
  file.write(plan_text(plan));
  file.commit();
}

}  // namespace ddl
