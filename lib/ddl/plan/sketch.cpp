#include "ddl/plan/sketch.h"

#include <algorithm>

namespace ddl {

double Sketch::busy_seconds(std::size_t worker) const {
  const WorkerSpeed& speed = speeds[worker];
  const std::int64_t rounds = (shares.tasks[worker] + speed.lanes - 1) / speed.lanes;
  return static_cast<double>(rounds) * speed.task_seconds;
}

Sketch sketch_step(const PlanRequest& request, const std::vector<WorkerModel>& workers,
                   std::int64_t task_samples, const std::string& reduction) {
  const std::int64_t batch = request.numerics.global_batch;
  Sketch out;
  for (const WorkerModel& worker : workers)
    out.speeds.push_back({worker.task_seconds(task_samples), worker.lanes});
  out.shares = minimise_slowest_finish((batch + task_samples - 1) / task_samples, out.speeds);
  Prediction& p = out.predicted;
  p.compute_seconds = out.shares.finish_seconds;
  p.rounding_loss = out.shares.rounding_loss;
  p.communication_seconds =
      reduction_seconds(request.cluster, workers.size(), reduction_bytes(request, reduction));
  p.update_seconds = update_seconds(request, workers);
  std::vector<std::int64_t> samples;
  for (const std::int64_t count : out.shares.tasks)
    samples.push_back(std::min(count * task_samples, batch));
  p.input_seconds = input_seconds(request, workers, samples);
  p.step_seconds =
      std::max(p.compute_seconds, p.input_seconds) + p.communication_seconds + p.update_seconds;
  const std::int64_t steps = (request.dataset.samples("train") + batch - 1) / batch;
  p.epoch_seconds = static_cast<double>(steps) * p.step_seconds;
  p.samples_per_second = static_cast<double>(batch) / p.step_seconds;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    p.utilisation += out.busy_seconds(i) / p.step_seconds / static_cast<double>(workers.size());
    p.memory_bytes =
        std::max(p.memory_bytes, worker_memory_bytes(request.cost, workers[i].lanes, task_samples));
  }
  p.utilisation = std::min(1.0, p.utilisation);
  return out;
}

}  // namespace ddl
