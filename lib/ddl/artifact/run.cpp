#include "ddl/artifact/run.h"

#include "ddl/artifact/records.h"
#include "ddl/base/file.h"

namespace ddl {
namespace artifact {
namespace {

constexpr std::string_view kFormat = "ddl-run";

Json report_json(const WorkerReport& report) {
  return {{"rank", report.rank},
          {"host", report.host},
          {"lanes", report.lanes},
          {"tasks", report.tasks},
          {"samples", report.samples},
          {"predicted_compute_seconds", report.predicted_compute_seconds},
          {"measured_compute_seconds", report.measured_compute_seconds},
          {"measured_wait_seconds", report.measured_wait_seconds},
          {"measured_input_seconds", report.measured_input_seconds}};
}

WorkerReport read_report(const Json& json) {
  WorkerReport out;
  read(json, "rank", out.rank);
  read(json, "host", out.host);
  read(json, "lanes", out.lanes);
  read(json, "tasks", out.tasks);
  read(json, "samples", out.samples);
  read(json, "predicted_compute_seconds", out.predicted_compute_seconds);
  read(json, "measured_compute_seconds", out.measured_compute_seconds);
  read(json, "measured_wait_seconds", out.measured_wait_seconds);
  read(json, "measured_input_seconds", out.measured_input_seconds);
  return out;
}

Json run_json(const RunRecord& run) {
  Json out = new_document(kFormat);
  out["ddl_version"] = run.ddl_version;
  out["command"] = run.command;
  out["status"] = run.status;
  out["started"] = run.started;
  out["finished"] = run.finished;
  out["numeric_class"] = run.numeric_class;
  out["task0_hash"] = run.task0_hash;
  out["parameters_hash"] = run.parameters_hash;
  out["steps"] = run.steps;
  out["epochs"] = run.epochs;
  out["skipped_steps"] = run.skipped_steps;
  out["resumed_at"] = run.resumed_at;
  Json& metrics = out["metrics"] = Json::object();
  for (const auto& [name, value] : run.metrics) metrics[name] = finite_or_null(value);
  out["predicted_step_seconds"] = run.predicted_step_seconds;
  out["measured_step_seconds"] = run.measured_step_seconds;
  out["predicted_communication_seconds"] = run.predicted_communication_seconds;
  out["measured_communication_seconds"] = run.measured_communication_seconds;
  Json& workers = out["workers"] = Json::array();
  for (const WorkerReport& report : run.workers) workers.push_back(report_json(report));
  out["deviations"] = run.deviations;
  out["numerics"] = numerics_json(run.numerics);
  out["recipe"] = recipe_json(run.recipe);
  out["plan"] = plan_json(run.plan);
  return out;
}

RunRecord read_run_json(const Json& json, const std::filesystem::path& file) {
  RunRecord out;
  read(json, "ddl_version", out.ddl_version);
  read(json, "command", out.command);
  read(json, "status", out.status);
  read(json, "started", out.started);
  read(json, "finished", out.finished);
  read(json, "numeric_class", out.numeric_class);
  read(json, "task0_hash", out.task0_hash);
  read(json, "parameters_hash", out.parameters_hash);
  read(json, "steps", out.steps);
  read(json, "epochs", out.epochs);
  read(json, "skipped_steps", out.skipped_steps);
  read(json, "resumed_at", out.resumed_at);
  if (const auto found = json.find("metrics"); found != json.end())
    for (const auto& [name, value] : found->items()) out.metrics[name] = number_or_nan(value);
  read(json, "predicted_step_seconds", out.predicted_step_seconds);
  read(json, "measured_step_seconds", out.measured_step_seconds);
  read(json, "predicted_communication_seconds", out.predicted_communication_seconds);
  read(json, "measured_communication_seconds", out.measured_communication_seconds);
  if (const auto found = json.find("workers"); found != json.end())
    for (const Json& report : *found) out.workers.push_back(read_report(report));
  read(json, "deviations", out.deviations);
  out.numerics = read_numerics(json.at("numerics"), file, "/numerics");
  out.recipe = read_recipe(json.at("recipe"), file, "/recipe");
  out.plan = read_plan_json(json.at("plan"), file, "/plan");
  for (std::size_t i = 0; i < out.workers.size(); ++i)
    if (out.workers[i].rank != static_cast<int>(i))
      refuse(file, "/workers/" + std::to_string(i) + "/rank",
             "found " + std::to_string(out.workers[i].rank) + ", expected " + std::to_string(i),
             "workers stand in the order of their ranks, from 0");
  if (out.skipped_steps > out.steps)
    refuse(file, "/skipped_steps",
           "found " + std::to_string(out.skipped_steps) + ", expected at most the " +
               std::to_string(out.steps) + " steps of the run");
  return out;
}

}  // namespace
}  // namespace artifact

RunRecord read_run(const std::filesystem::path& file) {
  return artifact::read_run_json(artifact::read_document(artifact::kFormat, file), file);
}

void write_run(const RunRecord& run, const std::filesystem::path& file) {
  write_text_atomically(file,
                        artifact::document_text(artifact::kFormat, artifact::run_json(run), file));
}

}  // namespace ddl
