// Dealing a plan's tasks to another number of workers.
#include "ddl/base/error.h"
#include "ddl/plan/planner.h"
#include "ddl/plan/shares.h"

#include <algorithm>
#include <numeric>

namespace ddl {
namespace {

constexpr int kMaximumWorkers = 1 << 20;

// Workers beyond the planned ones: the mean rate, the lanes of the last one.
PlannedWorker further_worker(const Plan& plan) {
  PlannedWorker worker;
  worker.lanes = plan.workers.back().lanes;
  worker.host = plan.workers.back().host;
  worker.device = plan.workers.back().device;
  const double sum = std::accumulate(
      plan.workers.begin(), plan.workers.end(), 0.0,
      [](double total, const PlannedWorker& one) { return total + one.samples_per_second; });
  worker.samples_per_second = sum / static_cast<double>(plan.workers.size());
  return worker;
}

}  // namespace

Plan deal_again(const Plan& plan, int workers) {
  if (workers < 1 || workers > kMaximumWorkers)
    throw bad_input(std::to_string(workers) + " workers: expected at least 1");
  if (plan.workers.empty()) throw bad_input("the plan has no workers");
  const auto planned = plan.workers.size();
  Plan out = plan;
  out.workers.resize(static_cast<std::size_t>(workers), further_worker(plan));
  const auto b = static_cast<double>(plan.numerics.task_samples);
  std::vector<WorkerSpeed> speeds;
  for (const PlannedWorker& worker : out.workers)
    speeds.push_back({worker.lanes * b / worker.samples_per_second, worker.lanes});
  const Shares shares = minimise_slowest_finish(plan.numerics.tasks_per_step(), speeds);

  // Rates of a plan without times are relative: then no times are predicted here either.
  const bool timed = plan.predicted.step_seconds > 0;
  std::int64_t first = 0;
  double busy = 0;
  for (std::size_t i = 0; i < out.workers.size(); ++i) {
    PlannedWorker& worker = out.workers[i];
    worker.rank = static_cast<int>(i);
    worker.tasks = {first, shares.tasks[i]};
    first += worker.tasks.count;
    const std::int64_t rounds = (worker.tasks.count + worker.lanes - 1) / worker.lanes;
    worker.task_seconds = timed ? speeds[i].task_seconds : 0;
    worker.predicted_seconds = static_cast<double>(rounds) * worker.task_seconds;
    busy += worker.predicted_seconds;
  }
  Prediction& p = out.predicted;
  p.rounding_loss = shares.rounding_loss;
  out.alternatives.clear();  // they were compared with the plan as it was
  if (!timed) return out;
  p.compute_seconds = shares.finish_seconds;
  if (workers == 1) p.communication_seconds = 0;
  const double steps = p.epoch_seconds / p.step_seconds;
  p.step_seconds =
      std::max(p.compute_seconds, p.input_seconds) + p.communication_seconds + p.update_seconds;
  p.epoch_seconds = steps * p.step_seconds;
  p.samples_per_second = static_cast<double>(plan.numerics.global_batch) / p.step_seconds;
  p.utilisation = std::min(1.0, busy / p.step_seconds / workers);
  if (planned == 1 && workers > 1)
    out.notes.push_back("communication was not planned for and is taken as 0");
  return out;
}

}  // namespace ddl
