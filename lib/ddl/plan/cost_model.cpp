#include "ddl/plan/cost_model.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ddl {
namespace {

constexpr double kAccumulateBytes = 20;  // per parameter and task: DESIGN, "exact"
constexpr double kUpdateBytes = 32;      // per parameter and step

const NodeProfile* node_of(const Cluster& cluster, int node) {
  return node < static_cast<int>(cluster.nodes.size())
             ? &cluster.nodes[static_cast<std::size_t>(node)]
             : nullptr;
}

// Lanes that share a node's memory.
int lanes_on_node(const Cluster& cluster, int node, int threads_per_task) {
  int lanes = 0;
  for (const WorkerProfile& worker : cluster.workers)
    if (worker.node == node) lanes += std::max(1, worker.threads / threads_per_task);
  return std::max(1, lanes);
}

// A profile made for this model and data; hashes that are not given (files by hand) fit any.
bool is_for(const ModelProfile& profile, const PlanRequest& request, const std::string& data_hash) {
  const bool model = profile.model_hash.empty() ? profile.model == request.model
                                                : profile.model_hash == request.model_hash;
  return model && (profile.dataset_hash.empty() || profile.dataset_hash == data_hash);
}

}  // namespace

WorkerModel::WorkerModel(const PlanRequest& request, const WorkerProfile& profile,
                         const std::string& data_hash)
    : lanes(std::max(1, profile.threads / request.numerics.threads_per_task)),
      node(profile.node),
      device(profile.device),
      numeric_class(profile.numeric_class) {
  if (const NodeProfile* found = node_of(request.cluster, node)) host = found->host;
  if (!take_measured(request, profile, data_hash)) take_estimate(request, profile);
}

bool WorkerModel::take_measured(const PlanRequest& request, const WorkerProfile& profile,
                                const std::string& data_hash) {
  // Times were taken in float32 with one thread a task: other numerics need an estimate.
  if (request.numerics.dtype != "float32" || request.numerics.threads_per_task != 1) return false;
  for (const ModelProfile& model : profile.models) {
    if (!is_for(model, request, data_hash)) {
      if (model.model == request.model)
        remark = "the profile's times of '" + model.model +
                 "' are for another form of it or other data and are not used";
      continue;
    }
    // By lanes: those measured with as many as planned, or the nearest number below, or above.
    std::map<int, std::map<std::int64_t, double>> by_lanes;
    for (const TaskTime& task : model.tasks)
      by_lanes[task.lanes][task.samples] = task.seconds.median;
    if (by_lanes.empty()) continue;
    auto chosen = by_lanes.upper_bound(lanes);
    if (chosen != by_lanes.begin()) --chosen;
    if (chosen->first != lanes)
      remark = "times with " + std::to_string(lanes) +
               " tasks side by side were not measured: those with " +
               std::to_string(chosen->first) + " are used";
    for (const auto& [samples, seconds] : chosen->second) {
      sizes_.push_back(samples);
      seconds_.push_back(seconds);
    }
    source_ = TimeSource::measured;
    return true;
  }
  return false;
}

void WorkerModel::take_estimate(const PlanRequest& request, const WorkerProfile& profile) {
  const Measured& rate = request.numerics.dtype == "bfloat16" ? profile.bf16_flops_per_second
                                                              : profile.fp32_flops_per_second;
  if (!(rate.median > 0)) return;
  source_ = TimeSource::estimated;
  per_sample_ =
      request.cost.training_flops_per_sample / (rate.median * request.numerics.threads_per_task);
  const NodeProfile* found = node_of(request.cluster, node);
  if (found != nullptr && found->memory_bandwidth_bytes_per_second.median > 0) {
    const double bandwidth =
        found->memory_bandwidth_bytes_per_second.median /
        lanes_on_node(request.cluster, node, request.numerics.threads_per_task);
    per_sample_ += request.cost.training_bytes_per_sample / bandwidth;
    per_task_ = kAccumulateBytes * static_cast<double>(request.cost.parameters) / bandwidth;
  }
  if (!(per_sample_ > 0)) per_sample_ = 1 / rate.median;  // a model without arithmetic
}

double WorkerModel::task_seconds(std::int64_t samples) const {
  const auto b = static_cast<double>(samples);
  if (source_ != TimeSource::measured) return factor_ * (per_task_ + per_sample_ * b);
  const auto size = [&](std::size_t i) { return static_cast<double>(sizes_[i]); };
  const std::size_t last = sizes_.size() - 1;
  const auto proportional = [&](std::size_t i) { return seconds_[i] * b / size(i); };
  if (last == 0) return factor_ * proportional(0);
  const auto above = static_cast<std::size_t>(
      std::lower_bound(sizes_.begin(), sizes_.end(), samples) - sizes_.begin());
  const std::size_t right = std::clamp<std::size_t>(above, 1, last), left = right - 1;
  const double slope = (seconds_[right] - seconds_[left]) / (size(right) - size(left));
  const double line = seconds_[left] + slope * (b - size(left));
  // Outside the measured sizes a line may go astray: a task has no negative fixed cost, and more
  // samples never take less time.
  if (above == 0) return factor_ * std::max(line, proportional(0));
  if (above > last && slope <= 0) return factor_ * proportional(last);
  return factor_ * line;
}

void WorkerModel::set_rate(double samples_per_second, TimeSource source) {
  source_ = source;
  sizes_.clear();
  seconds_.clear();
  per_task_ = 0;
  per_sample_ = lanes / samples_per_second;
  factor_ = 1;
}

void WorkerModel::scale(double factor) {
  factor_ *= factor;
}

std::uint64_t sample_bytes(const DatasetManifest& dataset) {
  std::uint64_t bytes = 0;
  for (const Field& field : dataset.fields)
    bytes += static_cast<std::uint64_t>(element_count(field.shape)) * dtype_bytes(field.dtype);
  return bytes;
}

double reduction_bytes(const PlanRequest& request, const std::string& reduction) {
  return static_cast<double>(request.cost.parameters) * (reduction == "exact" ? 8 : 4);
}

double reduction_seconds(const Cluster& cluster, std::size_t workers, double bytes) {
  if (workers < 2) return 0;
  double latency = 0, bandwidth = 0;
  for (const auto* links : {&cluster.link_classes, &cluster.link_exceptions})
    for (const Link& link : *links) {
      latency = std::max(latency, link.latency_seconds.median);
      const double one = link.bandwidth_bytes_per_second.median;
      if (one > 0) bandwidth = bandwidth > 0 ? std::min(bandwidth, one) : one;
    }
  const auto n = static_cast<double>(workers);
  double seconds = 2 * std::ceil(std::log2(n)) * latency;
  const Measured& rate = cluster.allreduce_bytes_per_second;
  if (rate.samples > 0 && rate.median > 0 && workers == cluster.workers.size())
    seconds += bytes / rate.median;
  else if (bandwidth > 0)
    seconds += 2 * (n - 1) / n * bytes / bandwidth;
  return seconds;
}

double update_seconds(const PlanRequest& request, const std::vector<WorkerModel>& workers) {
  const double bytes = kUpdateBytes * static_cast<double>(request.cost.parameters);
  std::map<int, double> by_node;
  for (const WorkerModel& worker : workers) by_node[worker.node] += bytes;
  double slowest = 0;
  for (const auto& [node, total] : by_node) {
    const NodeProfile* found = node_of(request.cluster, node);
    if (found != nullptr && found->memory_bandwidth_bytes_per_second.median > 0)
      slowest = std::max(slowest, total / found->memory_bandwidth_bytes_per_second.median);
  }
  return slowest;
}

double input_seconds(const PlanRequest& request, const std::vector<WorkerModel>& workers,
                     const std::vector<std::int64_t>& samples) {
  const auto bytes = static_cast<double>(sample_bytes(request.dataset));
  std::map<int, double> by_node;
  for (std::size_t i = 0; i < workers.size(); ++i)
    by_node[workers[i].node] += bytes * static_cast<double>(samples[i]);
  double slowest = 0;
  for (const auto& [node, total] : by_node) {
    const NodeProfile* found = node_of(request.cluster, node);
    if (found != nullptr && found->storage_read_bytes_per_second.median > 0)
      slowest = std::max(slowest, total / found->storage_read_bytes_per_second.median);
  }
  return slowest;
}

std::uint64_t worker_memory_bytes(const ModelCost& cost, int lanes, std::int64_t task_samples) {
  std::int64_t largest = 0;
  for (const LayerCost& layer : cost.layers) largest = std::max(largest, layer.parameters);
  const double lane = static_cast<double>(task_samples) * 2 * cost.activation_bytes_per_sample +
                      4 * static_cast<double>(largest);
  return static_cast<std::uint64_t>(32 * static_cast<double>(cost.parameters) +
                                    4 * static_cast<double>(cost.buffers) + lanes * lane);
}

}  // namespace ddl
