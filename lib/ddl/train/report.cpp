#include "ddl/train/report.h"

#include "ddl/base/table.h"
#include "ddl/base/units.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace ddl {

std::string metric_text(double value) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.4f", value);
  return text;
}

std::string report_text(const RunRecord& record) {
  const auto seconds = [](double value) { return value > 0 ? format_seconds(value) : "-"; };
  Table table(
      {"worker", "host", "lanes", "tasks", "samples", "compute", "predicted", "waiting", "input"});
  const WorkerReport* slowest = nullptr;
  for (const WorkerReport& worker : record.workers) {
    table.add_row({std::to_string(worker.rank), worker.host, std::to_string(worker.lanes),
                   std::to_string(worker.tasks), std::to_string(worker.samples),
                   seconds(worker.measured_compute_seconds),
                   seconds(worker.predicted_compute_seconds), seconds(worker.measured_wait_seconds),
                   seconds(worker.measured_input_seconds)});
    if (slowest == nullptr || worker.measured_compute_seconds > slowest->measured_compute_seconds)
      slowest = &worker;
  }
  std::string out = "per step, predicted beside measured:\n" + table.text();
  out += "step " + seconds(record.measured_step_seconds) + " (predicted " +
         seconds(record.predicted_step_seconds) + "), communication " +
         seconds(record.measured_communication_seconds) + " (predicted " +
         seconds(record.predicted_communication_seconds) + ")";
  if (record.workers.size() > 1 && slowest != nullptr)
    out += "; the last to reach the collective is worker " + std::to_string(slowest->rank);
  return out + "\n";
}

std::string metrics_text(const std::map<std::string, double>& metrics) {
  std::string out;
  for (const auto& [name, value] : metrics) out += name + ": " + metric_text(value) + "\n";
  return out;
}

std::string metrics_json(const std::map<std::string, double>& metrics) {
  nlohmann::ordered_json json = {{"metrics", nlohmann::ordered_json::object()}};
  for (const auto& [name, value] : metrics)
    json["metrics"][name] = std::isfinite(value) ? nlohmann::ordered_json(value) : nullptr;
  return json.dump() + "\n";
}

std::string result_text(const RunRecord& record) {
  const auto is_test = [](const auto& metric) { return metric.first.starts_with("test "); };
  std::map<std::string, double> told = record.metrics;
  if (std::any_of(told.begin(), told.end(), is_test))
    std::erase_if(told, [&](const auto& metric) { return !is_test(metric); });
  return metrics_text(told) + "parameters_hash " + record.parameters_hash + "\n";
}

std::string result_json(const RunRecord& record) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(metrics_json(record.metrics));
  json["steps"] = record.steps;
  json["parameters_hash"] = record.parameters_hash;
  return json.dump() + "\n";
}

}  // namespace ddl
