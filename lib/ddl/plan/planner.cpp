#include "ddl/plan/planner.h"

#include "ddl/base/error.h"
#include "ddl/base/units.h"
#include "ddl/plan/cost_model.h"
#include "ddl/plan/sketch.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace ddl {
namespace {

constexpr double kNoticeableRoundingLoss = 0.03;
constexpr double kSameStep = 0.02;

std::string percent(double fraction) {
  const double tenths = std::round(fraction * 1000) / 10;
  std::string text = std::to_string(tenths);
  return text.substr(0, text.find('.') + 2) + " %";
}

void check_request(const PlanRequest& request) {
  const Numerics& numerics = request.numerics;
  const std::int64_t samples = request.dataset.samples("train");
  if (request.dataset.find_split("train") == nullptr)
    throw bad_input("the data set has no train split").with_file(request.dataset_path);
  if (numerics.global_batch < 1)
    throw bad_input("--batch " + std::to_string(numerics.global_batch) + ": expected at least 1");
  if (numerics.threads_per_task < 1) throw bad_input("threads per task: expected at least 1");
  if (samples < numerics.global_batch)
    throw bad_input(
        "the train split has " + std::to_string(samples) +
            " samples, fewer than one global batch of " + std::to_string(numerics.global_batch),
        samples > 0 ? "use --batch " + std::to_string(samples) + " or less" : "add samples to it")
        .with_file(request.dataset_path);
  if (request.task_samples_given &&
      (numerics.task_samples < 1 || numerics.task_samples > numerics.global_batch))
    throw bad_input("--task " + std::to_string(numerics.task_samples) +
                    ": expected 1 to the global batch of " + std::to_string(numerics.global_batch));
  if (request.cluster.workers.empty()) throw bad_input("the cluster has no workers");
  if (!request.rates.empty() && request.rates.size() != request.cluster.workers.size())
    throw bad_input("--rates names " + std::to_string(request.rates.size()) + " rates for " +
                        std::to_string(request.cluster.workers.size()) + " workers",
                    "give one for each worker, in order of their ranks");
  for (const double rate : request.rates)
    if (!(rate > 0) || !std::isfinite(rate))
      throw bad_input("--rates: found " + std::to_string(rate) + ", expected more than 0");
}

class Planner {
 public:
  explicit Planner(const PlanRequest& request)
      : request_(request), numerics_(request.numerics), data_hash_(manifest_hash(request.dataset)) {
    for (const WorkerProfile& profile : request.cluster.workers)
      workers_.emplace_back(request, profile, data_hash_);
    take_rates();
    check_sources();
  }

  Plan make() {
    if (!request_.task_samples_given) numerics_.task_samples = choose_task_samples();
    fit_memory();
    const Sketch sketch = sketch_of(workers_, numerics_.task_samples, numerics_.reduction);
    Plan plan;
    plan.numerics = numerics_;
    plan.dataset = request_.dataset_path;
    plan.dataset_hash = data_hash_;
    plan.model = request_.model;
    plan.model_options = request_.model_options;
    plan.model_hash = request_.model_hash;
    plan.parameters = request_.cost.parameters;
    plan.train_samples = request_.dataset.samples("train");
    add_workers(plan, sketch);
    if (times_are_known()) {
      plan.predicted = sketch.predicted;
      add_alternatives(plan);
    }
    plan.predicted.rounding_loss = sketch.shares.rounding_loss;
    plan.predicted.memory_bytes = sketch.predicted.memory_bytes;
    add_notes(plan, sketch);
    return plan;
  }

 private:
  bool times_are_known() const { return workers_.front().source() != TimeSource::unknown; }
  bool times_are_measured() const {
    return std::all_of(workers_.begin(), workers_.end(), [](const WorkerModel& worker) {
      return worker.source() == TimeSource::measured;
    });
  }
  std::int64_t tasks(std::int64_t samples) const {
    return (numerics_.global_batch + samples - 1) / samples;
  }
  std::int64_t lanes() const {
    return std::accumulate(
        workers_.begin(), workers_.end(), std::int64_t{0},
        [](std::int64_t sum, const WorkerModel& worker) { return sum + worker.lanes; });
  }

  // Rates by hand keep what the cluster as a whole was measured to do, and divide it anew.
  void take_rates() {
    if (request_.rates.empty()) return;
    const bool known = std::all_of(workers_.begin(), workers_.end(), [](const WorkerModel& worker) {
      return worker.source() != TimeSource::unknown;
    });
    const std::int64_t b = request_.task_samples_given
                               ? numerics_.task_samples
                               : std::min<std::int64_t>(numerics_.global_batch, 16);
    double together = 0;
    for (const WorkerModel& worker : workers_)
      together += worker.lanes * static_cast<double>(b) / worker.task_seconds(b);
    const double sum = std::accumulate(request_.rates.begin(), request_.rates.end(), 0.0);
    for (std::size_t i = 0; i < workers_.size(); ++i)
      workers_[i].set_rate(known ? request_.rates[i] / sum * together : request_.rates[i],
                           known ? TimeSource::estimated : TimeSource::unknown);
    notes_.push_back("relative speeds were given by hand (--rates)");
  }

  void check_sources() const {
    const auto unknown = std::find_if(workers_.begin(), workers_.end(), [](const WorkerModel& w) {
      return w.source() == TimeSource::unknown;
    });
    if (unknown == workers_.end()) return;
    const auto known = std::find_if(workers_.begin(), workers_.end(), [](const WorkerModel& w) {
      return w.source() != TimeSource::unknown;
    });
    if (known != workers_.end())
      throw bad_input("worker " + std::to_string(unknown - workers_.begin()) +
                          " has neither times for this model nor a matrix rate, and worker " +
                          std::to_string(known - workers_.begin()) + " has",
                      "profile it, or give --rates");
  }

  Sketch sketch_of(const std::vector<WorkerModel>& workers, std::int64_t b,
                   const std::string& reduction) const {
    return sketch_step(request_, workers, b, reduction);
  }

  bool leaves(std::int64_t b, std::int64_t per_lane) const {
    return tasks(b) >= per_lane * lanes();
  }

  // Powers of two and measured sizes, ascending, from `low` to `high`.
  std::vector<std::int64_t> sizes_between(std::int64_t low, std::int64_t high) const {
    std::set<std::int64_t> sizes;
    for (std::int64_t b = 1; b <= numerics_.global_batch; b *= 2) sizes.insert(b);
    for (const WorkerModel& worker : workers_)
      sizes.insert(worker.measured_sizes().begin(), worker.measured_sizes().end());
    std::erase_if(sizes, [&](std::int64_t b) { return b < low || b > high; });
    return {sizes.begin(), sizes.end()};
  }

  // Sizes whose times were measured, or lie between measured ones, on every worker: beyond them the
  // model of times is a guess that would choose its own errors. None when but one size was
  // measured.
  std::vector<std::int64_t> sizes_to_compare() const {
    if (!times_are_measured()) return {};
    std::int64_t low = 1, high = numerics_.global_batch;
    for (const WorkerModel& worker : workers_) {
      if (worker.measured_sizes().size() < 2) return {};
      low = std::max(low, worker.measured_sizes().front());
      high = std::min(high, worker.measured_sizes().back());
    }
    std::vector<std::int64_t> sizes = sizes_between(low, high);
    std::erase_if(sizes, [&](std::int64_t b) { return !leaves(b, 2); });
    return sizes;
  }

  std::int64_t choose_task_samples() {
    const std::vector<std::int64_t> sizes = sizes_to_compare();
    if (sizes.empty()) return choose_by_tasks();
    std::vector<double> steps;
    for (const std::int64_t b : sizes)
      steps.push_back(sketch_of(workers_, b, numerics_.reduction).predicted.step_seconds);
    const double shortest = *std::min_element(steps.begin(), steps.end());
    std::size_t i = 0;
    while (steps[i] > shortest * (1 + kSameStep)) ++i;
    notes_.push_back("task size " + std::to_string(sizes[i]) +
                     ": of the sizes whose times are known, with at least 2 tasks for each lane, "
                     "the smallest whose predicted step is within 2 % of the shortest");
    return sizes[i];
  }

  std::int64_t choose_by_tasks() {
    std::int64_t chosen = 1;
    for (const std::int64_t per_lane : {1, 4})
      for (const std::int64_t b : sizes_between(1, numerics_.global_batch))
        if (leaves(b, per_lane)) chosen = b;
    notes_.push_back("task size " + std::to_string(chosen) + ": the largest that leaves " +
                     (leaves(chosen, 4) ? "4 tasks" : "a task") +
                     " for each lane; there are no measured times of several sizes to choose by");
    return chosen;
  }

  // Lanes are given up, one at a time on the worker that has most, until each node's workers fit.
  void fit_memory() {
    for (std::size_t n = 0; n < request_.cluster.nodes.size(); ++n) {
      const std::uint64_t have = request_.cluster.nodes[n].memory_bytes;
      if (have == 0) continue;
      int given_up = 0;
      for (;; ++given_up) {
        std::uint64_t need = 0;
        WorkerModel* widest = nullptr;
        for (WorkerModel& worker : workers_) {
          if (worker.node != static_cast<int>(n)) continue;
          need += worker_memory_bytes(request_.cost, worker.lanes, numerics_.task_samples);
          if (widest == nullptr || worker.lanes > widest->lanes) widest = &worker;
        }
        if (need <= have) break;
        if (widest->lanes == 1)
          throw bad_input("the workers of " + request_.cluster.nodes[n].host + " need " +
                              format_bytes(need) + " of memory, and it has " + format_bytes(have),
                          "use fewer workers there, a smaller --task or a smaller model");
        --widest->lanes;
      }
      if (given_up > 0)
        notes_.push_back(request_.cluster.nodes[n].host + " runs " + std::to_string(given_up) +
                         " fewer tasks side by side than it has threads, to fit its memory");
    }
  }

  void add_workers(Plan& plan, const Sketch& sketch) const {
    std::int64_t first = 0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const WorkerModel& model = workers_[i];
      PlannedWorker worker;
      worker.rank = static_cast<int>(i);
      worker.host = model.host;
      worker.device = model.device;
      worker.lanes = model.lanes;
      const double seconds = sketch.speeds[i].task_seconds;
      worker.samples_per_second =
          model.lanes * static_cast<double>(numerics_.task_samples) / seconds;
      worker.tasks = {first, sketch.shares.tasks[i]};
      if (times_are_known()) {
        worker.task_seconds = seconds;
        worker.predicted_seconds = sketch.busy_seconds(i);
      }
      first += worker.tasks.count;
      plan.workers.push_back(std::move(worker));
    }
  }

  void add_alternatives(Plan& plan) const {
    const double step = plan.predicted.step_seconds;
    const auto compared = [&](double other) {
      if (std::abs(other - step) <= kSameStep * step) return std::string("no faster");
      return (other < step ? "faster by " + percent(1 - other / step)
                           : "slower by " + percent(other / step - 1));
    };
    const std::int64_t b = numerics_.task_samples;
    for (const std::int64_t other : {b / 2, b * 2}) {
      if (other < 1 || other > numerics_.global_batch) continue;
      const double seconds = sketch_of(workers_, other, numerics_.reduction).predicted.step_seconds;
      std::string why = compared(seconds);
      if (request_.task_samples_given)
        why += "; the task size was given";
      else if (seconds < step * (1 - kSameStep))
        why += ", but leaves " + std::to_string(tasks(other)) + " tasks for " +
               std::to_string(lanes()) + " lanes";
      plan.alternatives.push_back({"task size " + std::to_string(other), seconds, why});
    }
    if (numerics_.reduction == "exact" && workers_.size() > 1) {
      const double seconds = sketch_of(workers_, b, "fast").predicted.step_seconds;
      plan.alternatives.push_back(
          {"reduction fast", seconds,
           compared(seconds) + "; the model would depend on the number of workers"});
    }
    add_without_slowest(plan, compared);
  }

  template <class Compared>
  void add_without_slowest(Plan& plan, const Compared& compared) const {
    if (workers_.size() < 2) return;
    const std::int64_t b = numerics_.task_samples;
    std::size_t slowest = 0;
    for (std::size_t i = 1; i < workers_.size(); ++i)
      if (plan.workers[i].samples_per_second < plan.workers[slowest].samples_per_second)
        slowest = i;
    std::vector<WorkerModel> others = workers_;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(slowest));
    const double seconds = sketch_of(others, b, numerics_.reduction).predicted.step_seconds;
    const std::string what =
        "without rank " + std::to_string(slowest) +
        (workers_[slowest].host.empty() ? "" : " (" + workers_[slowest].host + ")");
    plan.alternatives.push_back(
        {what, seconds, compared(seconds) + "; all workers were asked for"});
    if (seconds < plan.predicted.step_seconds * (1 - kSameStep))
      plan.notes.push_back(what + " a step would be shorter: " + format_seconds(seconds));
  }

  void add_notes(Plan& plan, const Sketch& sketch) const {
    std::vector<std::string>& notes = plan.notes;
    if (!times_are_known())
      notes.push_back(
          "no rates were measured: workers are taken as they are given, and no times are "
          "predicted");
    else if (!times_are_measured() && request_.rates.empty())
      notes.push_back(
          "times are estimates from the model's FLOPs and the measured matrix rate: run "
          "ddl-profile "
          "with --model and --dataset for measured ones");
    notes.insert(notes.end(), notes_.begin(), notes_.end());
    std::set<std::string> remarks, classes;
    for (const WorkerModel& worker : workers_) {
      if (!worker.remark.empty() && remarks.insert(worker.remark).second)
        notes.push_back(worker.remark);
      classes.insert(worker.numeric_class);
    }
    if (sketch.shares.rounding_loss > kNoticeableRoundingLoss)
      notes.push_back("warning: tasks cannot be divided evenly: the slowest worker ends " +
                      percent(sketch.shares.rounding_loss) +
                      " later than if they could; a smaller --task or a larger --batch helps");
    const auto idle = std::count(sketch.shares.tasks.begin(), sketch.shares.tasks.end(), 0);
    if (idle > 0)
      notes.push_back(
          "warning: " + std::to_string(idle) + " of " + std::to_string(workers_.size()) +
          " workers have no task in a step; a smaller --task or a larger --batch helps");
    if (classes.size() > 1)
      notes.push_back(
          "workers are of different numeric classes, whose bits differ: --isa avx2 may make them "
          "one");
    if (workers_.size() > 1 && times_are_known() && sketch.predicted.communication_seconds == 0)
      notes.push_back("the cluster has no rates between workers: communication is taken as 0");
  }

  const PlanRequest& request_;
  Numerics numerics_;
  std::string data_hash_;
  std::vector<WorkerModel> workers_;
  std::vector<std::string> notes_;
};

}  // namespace

Plan make_plan(const PlanRequest& request) {
  check_request(request);
  return Planner(request).make();
}

Cluster equal_workers(int count) {
  if (count < 1) throw bad_input("--np " + std::to_string(count) + ": expected at least 1");
  Cluster cluster;
  cluster.nodes.emplace_back().host = "localhost";
  for (int rank = 0; rank < count; ++rank) cluster.workers.emplace_back().rank = rank;
  return cluster;
}

Cluster first_workers(const Cluster& cluster, int count) {
  if (count < 1) throw bad_input("--np " + std::to_string(count) + ": expected at least 1");
  if (count > static_cast<int>(cluster.workers.size()))
    throw bad_input("--np " + std::to_string(count) + ": the cluster has " +
                        std::to_string(cluster.workers.size()) + " workers",
                    "profile more, or plan without --cluster");
  Cluster out = cluster;
  out.workers.resize(static_cast<std::size_t>(count));
  std::erase_if(out.link_exceptions,
                [&](const Link& link) { return link.from >= count || link.to >= count; });
  // The all-reduce was measured over all of them.
  if (out.workers.size() != cluster.workers.size()) out.allreduce_bytes_per_second = {};
  return out;
}

}  // namespace ddl
