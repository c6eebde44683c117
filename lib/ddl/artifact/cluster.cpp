#include "ddl/artifact/cluster.h"

#include "ddl/artifact/json.h"
#include "ddl/base/file.h"

#include <set>
#include <utility>

namespace ddl {
namespace artifact {
namespace {

constexpr std::string_view kFormat = "ddl-cluster";

Json measured_json(const Measured& measured) {
  return {{"median", measured.median},
          {"low", measured.low},
          {"high", measured.high},
          {"samples", measured.samples}};
}

// Only the median must be given: the spread of a figure written by hand is zero.
void read_measured(const Json& object, const char* key, Measured& out,
                   const std::filesystem::path& file, const std::string& pointer) {
  const auto found = object.find(key);
  if (found == object.end()) return;
  read(*found, "median", out.median);
  out.low = out.high = out.median;
  out.samples = 1;
  read(*found, "low", out.low);
  read(*found, "high", out.high);
  read(*found, "samples", out.samples);
  if (out.low > out.median || out.high < out.median)
    refuse(file, pointer + "/" + key,
           "found a median of " + found->at("median").dump() + " outside low to high (" +
               Json(out.low).dump() + " to " + Json(out.high).dump() + ")");
}

Json node_json(const NodeProfile& node) {
  return {
      {"host", node.host},
      {"processor", node.processor},
      {"logical_processors", node.logical_processors},
      {"cpu_quota", node.cpu_quota},
      {"memory_bytes", node.memory_bytes},
      {"memory_bandwidth_bytes_per_second", measured_json(node.memory_bandwidth_bytes_per_second)},
      {"storage_read_bytes_per_second", measured_json(node.storage_read_bytes_per_second)},
      {"storage_how", node.storage_how}};
}

NodeProfile read_node(const Json& json, const std::filesystem::path& file,
                      const std::string& pointer) {
  NodeProfile out;
  read(json, "host", out.host);
  read(json, "processor", out.processor);
  read(json, "logical_processors", out.logical_processors);
  read(json, "cpu_quota", out.cpu_quota);
  read(json, "memory_bytes", out.memory_bytes);
  read_measured(json, "memory_bandwidth_bytes_per_second", out.memory_bandwidth_bytes_per_second,
                file, pointer);
  read_measured(json, "storage_read_bytes_per_second", out.storage_read_bytes_per_second, file,
                pointer);
  read(json, "storage_how", out.storage_how);
  return out;
}

Json model_json(const ModelProfile& model) {
  Json out = {{"model", model.model},
              {"model_hash", model.model_hash},
              {"dataset_hash", model.dataset_hash}};
  Json& tasks = out["tasks"] = Json::array();
  for (const TaskTime& task : model.tasks)
    tasks.push_back({{"samples", task.samples},
                     {"lanes", task.lanes},
                     {"seconds", measured_json(task.seconds)}});
  return out;
}

ModelProfile read_model(const Json& json, const std::filesystem::path& file,
                        const std::string& pointer) {
  ModelProfile out;
  read(json, "model", out.model);
  read(json, "model_hash", out.model_hash);
  read(json, "dataset_hash", out.dataset_hash);
  std::set<std::pair<int, int>> seen;
  for (const Json& one : json.at("tasks")) {
    TaskTime task;
    const std::string here = pointer + "/tasks/" + std::to_string(out.tasks.size());
    read(one, "samples", task.samples);
    read(one, "lanes", task.lanes);
    read_measured(one, "seconds", task.seconds, file, here);
    if (task.seconds.median <= 0)
      refuse(file, here + "/seconds/median", "found 0, expected more than 0");
    if (!seen.emplace(task.samples, task.lanes).second)
      refuse(file, here,
             "a time for " + std::to_string(task.samples) + " samples and " +
                 std::to_string(task.lanes) + " lanes stands above already");
    out.tasks.push_back(std::move(task));
  }
  return out;
}

Json worker_json(const WorkerProfile& worker) {
  Json out = {{"rank", worker.rank},
              {"node", worker.node},
              {"device", worker.device},
              {"numeric_class", worker.numeric_class},
              {"threads", worker.threads},
              {"fp32_flops_per_second", measured_json(worker.fp32_flops_per_second)},
              {"bf16_flops_per_second", measured_json(worker.bf16_flops_per_second)}};
  Json& models = out["models"] = Json::array();
  for (const ModelProfile& model : worker.models) models.push_back(model_json(model));
  return out;
}

WorkerProfile read_worker(const Json& json, const std::filesystem::path& file,
                          const std::string& pointer) {
  WorkerProfile out;
  read(json, "rank", out.rank);
  read(json, "node", out.node);
  read(json, "device", out.device);
  read(json, "numeric_class", out.numeric_class);
  read(json, "threads", out.threads);
  read_measured(json, "fp32_flops_per_second", out.fp32_flops_per_second, file, pointer);
  read_measured(json, "bf16_flops_per_second", out.bf16_flops_per_second, file, pointer);
  if (const auto found = json.find("models"); found != json.end())
    for (const Json& model : *found)
      out.models.push_back(
          read_model(model, file, pointer + "/models/" + std::to_string(out.models.size())));
  return out;
}

Json link_json(const Link& link) {
  Json out = Json::object();
  if (link.from >= 0 || link.to >= 0) {
    out["from"] = link.from;
    out["to"] = link.to;
  }
  out["level"] = link.level;
  out["latency_seconds"] = measured_json(link.latency_seconds);
  out["bandwidth_bytes_per_second"] = measured_json(link.bandwidth_bytes_per_second);
  return out;
}

std::vector<Link> read_links(const Json& json, const char* key, const std::filesystem::path& file) {
  std::vector<Link> out;
  const auto found = json.find(key);
  if (found == json.end()) return out;
  for (const Json& one : *found) {
    const std::string here = "/" + std::string(key) + "/" + std::to_string(out.size());
    Link link;
    read(one, "from", link.from);
    read(one, "to", link.to);
    read(one, "level", link.level);
    read_measured(one, "latency_seconds", link.latency_seconds, file, here);
    read_measured(one, "bandwidth_bytes_per_second", link.bandwidth_bytes_per_second, file, here);
    if (link.bandwidth_bytes_per_second.median <= 0)
      refuse(file, here + "/bandwidth_bytes_per_second/median", "found 0, expected more than 0");
    out.push_back(std::move(link));
  }
  return out;
}

Json cluster_json(const Cluster& cluster) {
  Json out = new_document(kFormat);
  Json& nodes = out["nodes"] = Json::array();
  for (const NodeProfile& node : cluster.nodes) nodes.push_back(node_json(node));
  Json& workers = out["workers"] = Json::array();
  for (const WorkerProfile& worker : cluster.workers) workers.push_back(worker_json(worker));
  Json& classes = out["link_classes"] = Json::array();
  for (Link link : cluster.link_classes) {
    link.from = link.to = -1;
    classes.push_back(link_json(link));
  }
  Json& exceptions = out["link_exceptions"] = Json::array();
  for (const Link& link : cluster.link_exceptions) exceptions.push_back(link_json(link));
  if (cluster.allreduce_bytes_per_second.samples > 0)
    out["allreduce_bytes_per_second"] = measured_json(cluster.allreduce_bytes_per_second);
  out["profiled_seconds"] = cluster.profiled_seconds;
  return out;
}

void check_references(const Cluster& cluster, const std::filesystem::path& file) {
  const auto workers = static_cast<int>(cluster.workers.size());
  for (int i = 0; i < workers; ++i) {
    const WorkerProfile& worker = cluster.workers[static_cast<std::size_t>(i)];
    const std::string here = "/workers/" + std::to_string(i);
    if (worker.rank != i)
      refuse(file, here + "/rank",
             "found " + std::to_string(worker.rank) + ", expected " + std::to_string(i),
             "workers stand in the order of their ranks, from 0");
    if (worker.node >= static_cast<int>(cluster.nodes.size()))
      refuse(file, here + "/node",
             "found node " + std::to_string(worker.node) + ", expected below " +
                 std::to_string(cluster.nodes.size()) + ", the number of nodes");
  }
  for (std::size_t i = 0; i < cluster.link_exceptions.size(); ++i) {
    const Link& link = cluster.link_exceptions[i];
    const std::string here = "/link_exceptions/" + std::to_string(i);
    for (const auto& [key, rank] : {std::pair{"/from", link.from}, std::pair{"/to", link.to}})
      if (rank >= workers)
        refuse(file, here + key,
               "found rank " + std::to_string(rank) + ", expected below " +
                   std::to_string(workers) + ", the number of workers");
    if (link.from == link.to)
      refuse(file, here, "the link leads from rank " + std::to_string(link.from) + " to itself");
  }
}

}  // namespace
}  // namespace artifact

Cluster read_cluster(const std::filesystem::path& file) {
  const artifact::Json json = artifact::read_document(artifact::kFormat, file);
  Cluster out;
  for (const artifact::Json& node : json.at("nodes"))
    out.nodes.push_back(
        artifact::read_node(node, file, "/nodes/" + std::to_string(out.nodes.size())));
  for (const artifact::Json& worker : json.at("workers"))
    out.workers.push_back(
        artifact::read_worker(worker, file, "/workers/" + std::to_string(out.workers.size())));
  out.link_classes = artifact::read_links(json, "link_classes", file);
  out.link_exceptions = artifact::read_links(json, "link_exceptions", file);
  artifact::read_measured(json, "allreduce_bytes_per_second", out.allreduce_bytes_per_second, file,
                          "");
  artifact::read(json, "profiled_seconds", out.profiled_seconds);
  artifact::check_references(out, file);
  return out;
}

std::string cluster_text(const Cluster& cluster) {
  return artifact::document_text(artifact::kFormat, artifact::cluster_json(cluster), "cluster");
}

void write_cluster(const Cluster& cluster, const std::filesystem::path& file) {
  write_text_atomically(
      file, artifact::document_text(artifact::kFormat, artifact::cluster_json(cluster), file));
}

}  // namespace ddl
