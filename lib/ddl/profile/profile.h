// ddl-profile: measures what nodes can do, alone or as ranks of a communicator.
#pragma once

#include "ddl/artifact/cluster.h"
#include "ddl/comm/communicator.h"

#include <cstdint>
#include <filesystem>
#include <map>
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
};

// Collective; every rank returns the whole cluster.
Cluster profile_cluster(Communicator& communicator, const ProfileOptions& options);

// Table for people.
std::string cluster_report(const Cluster& cluster);

}  // namespace ddl
