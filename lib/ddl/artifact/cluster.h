// cluster.json: what ddl-profile measured. Every figure is a median with its spread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ddl {

// A measured quantity: median, and the 10th and 90th percentiles of `samples` repetitions.
struct Measured {
  double median = 0, low = 0, high = 0;
  int samples = 0;
};

struct NodeProfile {
  std::string host;
  std::string processor;  // model name
  int logical_processors = 0;
  double cpu_quota = 0;  // cores of the cgroup quota; 0: none
  std::uint64_t memory_bytes = 0;
  Measured memory_bandwidth_bytes_per_second;  // copy, all the node's workers together
  Measured storage_read_bytes_per_second;      // sequential; how in storage_how
  std::string storage_how;                     // "page cache", "direct", …
};

// The time of one task of `samples` samples with `lanes` tasks side by side.
struct TaskTime {
  int samples = 0;
  int lanes = 1;
  Measured seconds;
};

// Task times of one model on one data set on this worker.
struct ModelProfile {
  std::string model;         // built-in name or the file's name
  std::string model_hash;    // XXH3-128 of the graph
  std::string dataset_hash;  // manifest hash
  std::vector<TaskTime> tasks;
};

struct WorkerProfile {
  int rank = 0;
  int node = 0;  // index into nodes
  std::string device = "cpu";
  std::string numeric_class;       // "cpu avx512": what decides bits
  int threads = 1;                 // lanes it may run side by side
  Measured fp32_flops_per_second;  // matrix product, one thread
  Measured bf16_flops_per_second;
  std::vector<ModelProfile> models;
};

// Links by class ("same node", "between nodes") with pairs that differ as exceptions.
struct Link {
  int from = -1, to = -1;  // worker ranks; -1 in a class entry
  std::string level;       // "node" or "network"
  Measured latency_seconds;
  Measured bandwidth_bytes_per_second;
};

struct Cluster {
  std::vector<NodeProfile> nodes;
  std::vector<WorkerProfile> workers;
  std::vector<Link> link_classes;
  std::vector<Link> link_exceptions;
  Measured
      allreduce_bytes_per_second;  // int64 sum over all workers at 4 MiB; samples 0: one worker
  double profiled_seconds = 0;
};

Cluster read_cluster(const std::filesystem::path& file);
void write_cluster(const Cluster& cluster, const std::filesystem::path& file);
std::string cluster_text(const Cluster& cluster);

}  // namespace ddl
