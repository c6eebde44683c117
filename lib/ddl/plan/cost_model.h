// What a step costs on a worker and between workers, in seconds and bytes. Plain arithmetic on what
// was measured:
//
//   task          from the profile's times for this model and data: linear between measured sizes,
//                 along the last slope beyond them; without such times
//                 b * FLOPs / matrix rate + (b * bytes + 20 * parameters) / bandwidth of one lane
//   reduction     bytes / measured all-reduce rate + 2 ceil(log2 n) * latency; without that rate
//                 2 (n-1)/n * bytes / slowest link (a ring); bytes = 8 (exact) or 4 per parameter
//   update        32 bytes of memory traffic per parameter: sums, weights, momentum, prepared
//   weights input         bytes of the samples that a node's workers take / storage read rate
//   memory        per parameter 4 weights + 4 prepared + 16 sums + 8 optimizer state; per lane
//                 b * 2 * activations + the largest layer's gradient
#pragma once

#include "ddl/plan/planner.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ddl {

enum class TimeSource { measured, estimated, unknown };

// One worker as the planner sees it.
class WorkerModel {
 public:
  // data_hash: the manifest hash of the request's data set.
  WorkerModel(const PlanRequest& request, const WorkerProfile& profile,
              const std::string& data_hash);

  // One task of `samples` samples with all lanes busy; unknown: 1 s a sample.
  double task_seconds(std::int64_t samples) const;
  void set_rate(double samples_per_second, TimeSource source);  // by hand: proportional to samples
  void scale(double factor);                                    // of all times
  TimeSource source() const { return source_; }
  const std::vector<std::int64_t>& measured_sizes() const { return sizes_; }

  int lanes = 1;
  int node = 0;
  std::string host, device, numeric_class;
  std::string remark;  // about the times, for the plan's notes

 private:
  bool take_measured(const PlanRequest& request, const WorkerProfile& profile,
                     const std::string& data_hash);
  void take_estimate(const PlanRequest& request, const WorkerProfile& profile);

  TimeSource source_ = TimeSource::unknown;
  std::vector<std::int64_t> sizes_;       // ascending, with…
  std::vector<double> seconds_;           // …their times
  double per_sample_ = 1, per_task_ = 0;  // of an estimate
  double factor_ = 1;
};

std::uint64_t sample_bytes(const DatasetManifest& dataset);
double reduction_bytes(const PlanRequest& request, const std::string& reduction);
double reduction_seconds(const Cluster& cluster, std::size_t workers, double bytes);
double update_seconds(const PlanRequest& request, const std::vector<WorkerModel>& workers);
// samples[i]: of worker i in one step.
double input_seconds(const PlanRequest& request, const std::vector<WorkerModel>& workers,
                     const std::vector<std::int64_t>& samples);
std::uint64_t worker_memory_bytes(const ModelCost& cost, int lanes, std::int64_t task_samples);

}  // namespace ddl
