#include "ddl/artifact/plan.h"

#include "ddl/artifact/records.h"
#include "ddl/base/file.h"

namespace ddl {
namespace artifact {
namespace {

constexpr std::string_view kFormat = "ddl-plan";

Json worker_json(const PlannedWorker& worker) {
  return {{"rank", worker.rank},
          {"host", worker.host},
          {"device", worker.device},
          {"lanes", worker.lanes},
          {"samples_per_second", worker.samples_per_second},
          {"task_seconds", worker.task_seconds},
          {"tasks", {{"first", worker.tasks.first}, {"count", worker.tasks.count}}},
          {"predicted_seconds", worker.predicted_seconds}};
}

PlannedWorker read_worker(const Json& json) {
  PlannedWorker out;
  read(json, "rank", out.rank);
  read(json, "host", out.host);
  read(json, "device", out.device);
  read(json, "lanes", out.lanes);
  read(json, "samples_per_second", out.samples_per_second);
  read(json, "task_seconds", out.task_seconds);
  const Json& tasks = json.at("tasks");
  read(tasks, "first", out.tasks.first);
  read(tasks, "count", out.tasks.count);
  read(json, "predicted_seconds", out.predicted_seconds);
  return out;
}

Json prediction_json(const Prediction& predicted) {
  return {{"compute_seconds", predicted.compute_seconds},
          {"communication_seconds", predicted.communication_seconds},
          {"input_seconds", predicted.input_seconds},
          {"update_seconds", predicted.update_seconds},
          {"step_seconds", predicted.step_seconds},
          {"epoch_seconds", predicted.epoch_seconds},
          {"samples_per_second", predicted.samples_per_second},
          {"utilisation", predicted.utilisation},
          {"rounding_loss", predicted.rounding_loss},
          {"memory_bytes", predicted.memory_bytes}};
}

Prediction read_prediction(const Json& json) {
  Prediction out;
  read(json, "compute_seconds", out.compute_seconds);
  read(json, "communication_seconds", out.communication_seconds);
  read(json, "input_seconds", out.input_seconds);
  read(json, "update_seconds", out.update_seconds);
  read(json, "step_seconds", out.step_seconds);
  read(json, "epoch_seconds", out.epoch_seconds);
  read(json, "samples_per_second", out.samples_per_second);
  read(json, "utilisation", out.utilisation);
  read(json, "rounding_loss", out.rounding_loss);
  read(json, "memory_bytes", out.memory_bytes);
  return out;
}

// Ranks are 0, 1, … in order, and the ranges cover tasks 0 .. M-1, each exactly once: ranges need
// not stand in task order, and empty ones may stand anywhere.
void check_workers(const Plan& plan, const std::filesystem::path& file,
                   const std::string& pointer) {
  const std::int64_t tasks = plan.numerics.tasks_per_step();
  std::map<std::int64_t, std::size_t> by_first;  // ranges with tasks
  for (std::size_t i = 0; i < plan.workers.size(); ++i) {
    const PlannedWorker& worker = plan.workers[i];
    const std::string here = pointer + "/workers/" + std::to_string(i);
    if (worker.rank != static_cast<int>(i))
      refuse(file, here + "/rank",
             "found " + std::to_string(worker.rank) + ", expected " + std::to_string(i),
             "workers stand in the order of their ranks, from 0");
    if (worker.tasks.count > tasks || worker.tasks.first > tasks - worker.tasks.count)
      refuse(file, here + "/tasks",
             "found tasks " + std::to_string(worker.tasks.first) + " to " +
                 std::to_string(worker.tasks.first + worker.tasks.count - 1) + ", expected below " +
                 std::to_string(tasks) + ", the tasks of a step");
    if (worker.tasks.count > 0 && !by_first.emplace(worker.tasks.first, i).second)
      refuse(file, here + "/tasks",
             "task " + std::to_string(worker.tasks.first) + " is given to rank " +
                 std::to_string(by_first.at(worker.tasks.first)) + " too");
  }
  std::int64_t next = 0;
  for (const auto& [first, index] : by_first) {
    const std::string here = pointer + "/workers/" + std::to_string(index) + "/tasks";
    if (first > next)
      refuse(file, here, "nobody has task " + std::to_string(next),
             "the ranges must cover tasks 0 to " + std::to_string(tasks - 1) + " exactly once");
    if (first < next)
      refuse(file, here, "task " + std::to_string(first) + " is given to two workers");
    next = first + plan.workers[index].tasks.count;
  }
  if (next != tasks)
    refuse(file, pointer + "/workers", "nobody has task " + std::to_string(next),
           "the ranges must cover tasks 0 to " + std::to_string(tasks - 1) + " exactly once");
}

}  // namespace

Json plan_json(const Plan& plan) {
  Json out = new_document(kFormat);
  out["dataset"] = plan.dataset;
  out["dataset_hash"] = plan.dataset_hash;
  out["model"] = plan.model;
  out["model_options"] = plan.model_options;
  out["model_hash"] = plan.model_hash;
  out["parameters"] = plan.parameters;
  if (plan.train_samples > 0) out["train_samples"] = plan.train_samples;
  out["numerics"] = numerics_json(plan.numerics);
  Json& workers = out["workers"] = Json::array();
  for (const PlannedWorker& worker : plan.workers) workers.push_back(worker_json(worker));
  out["predicted"] = prediction_json(plan.predicted);
  Json& alternatives = out["alternatives"] = Json::array();
  for (const Alternative& one : plan.alternatives)
    alternatives.push_back(
        {{"what", one.what}, {"step_seconds", one.step_seconds}, {"why", one.why}});
  out["notes"] = plan.notes;
  return out;
}

Plan read_plan_json(const Json& json, const std::filesystem::path& file,
                    const std::string& pointer) {
  Plan out;
  read(json, "dataset", out.dataset);
  read(json, "dataset_hash", out.dataset_hash);
  read(json, "model", out.model);
  read(json, "model_options", out.model_options);
  read(json, "model_hash", out.model_hash);
  read(json, "parameters", out.parameters);
  read(json, "train_samples", out.train_samples);
  out.numerics = read_numerics(json.at("numerics"), file, pointer + "/numerics");
  for (const Json& worker : json.at("workers")) out.workers.push_back(read_worker(worker));
  if (const auto found = json.find("predicted"); found != json.end())
    out.predicted = read_prediction(*found);
  if (const auto found = json.find("alternatives"); found != json.end())
    for (const Json& one : *found) {
      Alternative alternative;
      read(one, "what", alternative.what);
      read(one, "step_seconds", alternative.step_seconds);
      read(one, "why", alternative.why);
      out.alternatives.push_back(std::move(alternative));
    }
  read(json, "notes", out.notes);
  check_workers(out, file, pointer);
  return out;
}

}  // namespace artifact

Plan read_plan(const std::filesystem::path& file) {
  return artifact::read_plan_json(artifact::read_document(artifact::kFormat, file), file, "");
}

std::string plan_text(const Plan& plan) {
  return artifact::document_text(artifact::kFormat, artifact::plan_json(plan), "plan");
}

void write_plan(const Plan& plan, const std::filesystem::path& file) {
  write_text_atomically(
      file, artifact::document_text(artifact::kFormat, artifact::plan_json(plan), file));
}

}  // namespace ddl
