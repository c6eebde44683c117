// ddl-profile: measures what nodes can do, alone or as ranks of a communicator.
//
// Probes run one after the other, each as all workers at once behind a barrier, since that is how
// training uses a node. Every figure is a median with the 10th and 90th percentile of its
// repetitions; the first run of everything is left out (warm-up). The time is split between the
// probes beforehand (kShares in profile.cpp): each gets its share, at most its cap, and at least
// one repetition, so that a very short limit is overrun rather than a figure left out. Task times
// come last and take what is left.
//
// Errors: bad_input before any measurement (missing data set, unknown model, options that
// contradict); failure while measuring. Threads: one owner.
#pragma once

#include "ddl/artifact/cluster.h"
#include "ddl/comm/communicator.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ddl {

struct ProfileOptions {
  std::string model;  // built-in name or .onnx; "" to skip
  std::map<std::string, std::string> model_options;
  std::filesystem::path dataset;  // "" to skip
  std::filesystem::path
      storage;  // folder whose read rate is measured; default: dataset's or the working folder
  double maximum_seconds = 60;
  std::vector<int> task_sizes;  // empty: powers of two around what fits
  // Seconds that the time limit is kept by; empty: the machine's monotonic clock. Called from
  // several threads. Measured figures never use it.
  std::function<double()> clock;
};

class Profiler {
 public:
  // Loads and checks what the options name. Local: talks to no other rank.
  Profiler(Communicator& communicator, const ProfileOptions& options);
  ~Profiler();

  // What all ranks must have in common before run(), by name.
  std::map<std::string, std::string> settings() const;
  // Collective; every rank returns the whole cluster.
  Cluster run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Both steps in one. Collective; every rank returns the whole cluster.
Cluster profile_cluster(Communicator& communicator, const ProfileOptions& options);

// Table for people.
std::string cluster_report(const Cluster& cluster);

}  // namespace ddl
