// The table of `ddl-plan --explain`.
#include "ddl/base/table.h"
#include "ddl/base/units.h"
#include "ddl/plan/planner.h"

#include <algorithm>
#include <cstdio>

namespace ddl {
namespace {

constexpr int kBarWidth = 20;

std::string percent(double fraction) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * fraction);
  return text;
}

std::string range_text(const TaskRange& tasks) {
  if (tasks.count == 0) return "none";
  if (tasks.count == 1) return std::to_string(tasks.first);
  return std::to_string(tasks.first) + "-" + std::to_string(tasks.first + tasks.count - 1);
}

std::string head(const Plan& plan) {
  const Numerics& n = plan.numerics;
  std::string options;
  for (const auto& [name, value] : plan.model_options) options += " " + name + "=" + value;
  return "model     " + plan.model + options + ", " +
         format_count(static_cast<double>(plan.parameters)) + " parameters\n" + "data      " +
         plan.dataset + ", " + format_count(static_cast<double>(plan.train_samples)) +
         " samples to train on\n" + "step      " + std::to_string(n.global_batch) + " samples in " +
         std::to_string(n.tasks_per_step()) + " tasks of " + std::to_string(n.task_samples) + "\n" +
         "numerics  " + n.dtype + ", reduction " + n.reduction + ", order " + n.order + ", seed " +
         std::to_string(n.seed) + ", isa " + n.isa + "\n\n";
}

std::string worker_table(const Plan& plan, bool timed) {
  double longest = 0, largest = 0;
  for (const PlannedWorker& worker : plan.workers) {
    longest = std::max(longest, worker.predicted_seconds);
    largest = std::max(largest, static_cast<double>(worker.tasks.count));
  }
  std::vector<std::string> headings = {
      "rank", "host", "device", "lanes", timed ? "samples/s" : "speed", "tasks", "range"};
  if (timed) headings.insert(headings.end(), {"one task", "compute"});
  headings.push_back(timed ? "busy" : "share");
  Table table(headings);
  for (const PlannedWorker& worker : plan.workers) {
    std::vector<std::string> row = {std::to_string(worker.rank),
                                    worker.host,
                                    worker.device,
                                    std::to_string(worker.lanes),
                                    format_count(worker.samples_per_second),
                                    std::to_string(worker.tasks.count),
                                    range_text(worker.tasks)};
    if (timed) {
      row.push_back(format_seconds(worker.task_seconds));
      row.push_back(format_seconds(worker.predicted_seconds));
    }
    const double part = timed ? worker.predicted_seconds / std::max(longest, 1e-300)
                              : static_cast<double>(worker.tasks.count) / std::max(largest, 1.0);
    row.push_back(bar(part, kBarWidth));
    table.add_row(row);
  }
  return table.text();
}

std::string prediction_table(const Prediction& p) {
  Table table({"of a step", "predicted", ""});
  const auto add = [&](const char* what, double seconds) {
    table.add_row({what, format_seconds(seconds), bar(seconds / p.step_seconds, kBarWidth)});
  };
  add("compute", p.compute_seconds);
  add("input, beside it", p.input_seconds);
  add("reduction", p.communication_seconds);
  add("update", p.update_seconds);
  add("step", p.step_seconds);
  return "\n" + table.text() + "\nan epoch " + format_seconds(p.epoch_seconds) + ", " +
         format_rate(p.samples_per_second, "samples") + ", workers busy " + percent(p.utilisation) +
         " of the time\n";
}

}  // namespace

std::string explain_plan(const Plan& plan) {
  const bool timed = plan.predicted.step_seconds > 0;
  std::string text = head(plan) + worker_table(plan, timed);
  if (timed) text += prediction_table(plan.predicted);
  text += "lost to rounding to whole tasks: " + percent(plan.predicted.rounding_loss) +
          "; memory of the largest worker: " + format_bytes(plan.predicted.memory_bytes) + "\n";
  if (!plan.alternatives.empty()) {
    Table table({"instead", "step", "why not"});
    for (const Alternative& one : plan.alternatives)
      table.add_row({one.what, format_seconds(one.step_seconds), one.why});
    text += "\n" + table.text();
  }
  if (!plan.notes.empty()) text += "\n";
  for (const std::string& note : plan.notes) text += "note: " + note + "\n";
  return text;
}

}  // namespace ddl
