#include "ddl/base/table.h"
#include "ddl/base/units.h"
#include "ddl/profile/profile.h"

#include <algorithm>
#include <cctype>
#include <cmath>

namespace ddl {
namespace {

// "9.3 GB/s"
std::string with_unit(double value, std::string_view unit) {
  const std::string count = format_count(value);
  const bool prefixed = std::isalpha(static_cast<unsigned char>(count.back())) != 0;
  return count + (prefixed ? "" : " ") + std::string(unit);
}

// "9.3 GB/s (7.1 G to 11 G)"; a dash for what was not measured.
std::string rate(const Measured& value, std::string_view unit) {
  if (value.samples == 0) return "-";
  std::string out = with_unit(value.median, unit);
  if (value.low < value.median || value.high > value.median)
    out += " (" + format_count(value.low) + " to " + format_count(value.high) + ")";
  return out;
}

std::string bytes_rate(const Measured& value) {
  return rate(value, "B/s");
}

std::string flops_rate(const Measured& value) {
  return rate(value, "FLOP/s");
}

std::string time_text(const Measured& value) {
  if (value.samples == 0) return "-";
  std::string out = format_seconds(value.median);
  if (value.low < value.median || value.high > value.median)
    out += " (" + format_seconds(value.low) + " to " + format_seconds(value.high) + ")";
  return out;
}

std::string nodes_text(const Cluster& cluster) {
  Table table({"node", "host", "processor", "processors", "memory", "memory copy", "storage read"});
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const NodeProfile& node = cluster.nodes[i];
    std::string processors = std::to_string(node.logical_processors);
    if (node.cpu_quota > 0) {
      const auto tenths = static_cast<long>(std::lround(10 * node.cpu_quota));
      processors +=
          " (quota " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + ")";
    }
    table.add_row({std::to_string(i), node.host, node.processor, processors,
                   node.memory_bytes == 0 ? "-" : format_bytes(node.memory_bytes),
                   bytes_rate(node.memory_bandwidth_bytes_per_second),
                   bytes_rate(node.storage_read_bytes_per_second)});
  }
  std::string out = table.text();
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i)
    if (!cluster.nodes[i].storage_how.empty())
      out += "node " + std::to_string(i) + " storage: " + cluster.nodes[i].storage_how + "\n";
  return out;
}

std::string workers_text(const Cluster& cluster) {
  Table table({"worker", "node", "device", "lanes", "float32 a lane", "bfloat16 a lane", "class"});
  for (const WorkerProfile& worker : cluster.workers)
    table.add_row({std::to_string(worker.rank), std::to_string(worker.node), worker.device,
                   std::to_string(worker.threads), flops_rate(worker.fp32_flops_per_second),
                   flops_rate(worker.bf16_flops_per_second), worker.numeric_class});
  return table.text();
}

std::string links_text(const Cluster& cluster) {
  if (cluster.link_classes.empty() && cluster.allreduce_bytes_per_second.samples == 0) return "";
  Table table({"link", "latency", "bandwidth"});
  for (const Link& link : cluster.link_classes)
    table.add_row({link.level == "node" ? "same node" : "between nodes",
                   time_text(link.latency_seconds), bytes_rate(link.bandwidth_bytes_per_second)});
  for (const Link& link : cluster.link_exceptions)
    table.add_row({std::to_string(link.from) + " - " + std::to_string(link.to),
                   time_text(link.latency_seconds), bytes_rate(link.bandwidth_bytes_per_second)});
  std::string out = "\n" + table.text();
  if (cluster.allreduce_bytes_per_second.samples > 0)
    out += "all-reduce of 4MiB, int64: " + bytes_rate(cluster.allreduce_bytes_per_second) + "\n";
  return out;
}

std::string models_text(const Cluster& cluster) {
  std::vector<std::string> names;  // in order of appearance
  for (const WorkerProfile& worker : cluster.workers)
    for (const ModelProfile& model : worker.models)
      if (std::find(names.begin(), names.end(), model.model) == names.end())
        names.push_back(model.model);
  std::string out;
  for (const std::string& name : names) {
    Table table({"worker", "task samples", "lanes", "time of a task", "samples/s of the worker"});
    for (const WorkerProfile& worker : cluster.workers)
      for (const ModelProfile& model : worker.models)
        for (const TaskTime& task : model.tasks)
          if (model.model == name)
            table.add_row({std::to_string(worker.rank), std::to_string(task.samples),
                           std::to_string(task.lanes), time_text(task.seconds),
                           task.seconds.median > 0
                               ? format_count(task.samples * task.lanes / task.seconds.median)
                               : "-"});
    out += "\nmodel " + name + ", one task forward and backward\n" + table.text();
  }
  return out;
}

}  // namespace

std::string cluster_report(const Cluster& cluster) {
  std::string out = nodes_text(cluster) + "\n" + workers_text(cluster) + links_text(cluster) +
                    models_text(cluster);
  out += "\nmedians (10th to 90th percentile), warm-up left out; measured in " +
         format_seconds(cluster.profiled_seconds) + "\n";
  return out;
}

}  // namespace ddl
