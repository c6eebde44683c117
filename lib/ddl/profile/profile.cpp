#include "ddl/profile/profile.h"

#include "ddl/base/error.h"
#include "ddl/base/log.h"
#include "ddl/base/progress.h"
#include "ddl/base/threads.h"
#include "ddl/base/units.h"
#include "ddl/compute/executor.h"
#include "ddl/data/dataset.h"
#include "ddl/profile/budget.h"
#include "ddl/profile/gather.h"
#include "ddl/profile/link_probe.h"
#include "ddl/profile/node_facts.h"
#include "ddl/profile/pairs.h"
#include "ddl/profile/processor_probe.h"
#include "ddl/profile/statistics.h"
#include "ddl/profile/storage_probe.h"
#include "ddl/profile/task_probe.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ddl {
namespace {

namespace fs = std::filesystem;
using namespace profile;

// Of the whole time, and the seconds beyond which a figure gets no better. What the others leave
// goes to the tasks.
struct Share {
  double part, cap_seconds;
};
struct Shares {
  Share product_alone{0.03, 0.7};  // each of two types
  Share product{0.05, 1.2};        // each of two types
  Share memory{0.07, 1.5};
  Share storage{0.15, 5};
  Share links{0.20, 10};
  Share all_reduce{0.05, 1.5};
  Share tasks{1, 25};
};
constexpr Shares kShares;
constexpr double kLeftForTheEnd = 0.98;  // the limit includes gathering and writing

std::vector<fs::path> shard_files(const Dataset& dataset) {
  std::vector<fs::path> out;
  for (const Shard& shard : dataset.manifest().shards) out.push_back(dataset.folder() / shard.file);
  return out;
}

std::string rate_text(const Measured& rate, std::string_view unit) {
  return rate.samples == 0 ? "none" : format_rate(rate.median, unit);
}

}  // namespace

struct Profiler::Impl {
  Impl(Communicator& world, const ProfileOptions& asked);
  Cluster run();
  void say(const std::string& text) const {
    if (communicator.rank() == 0) log_info(text);
  }
  // The smallest over all ranks, so that everyone's probe has the same length.
  double window(Share share) {
    return communicator.all_reduce(budget->window(share.part, share.cap_seconds), ReduceOp::min);
  }
  void begin(const std::string& probe);

  void find_nodes();
  void find_workers();
  void measure_products();
  void measure_memory();
  void measure_storage();
  void measure_messages();
  void measure_model();

  Communicator& communicator;
  ProfileOptions options;
  std::unique_ptr<TaskSubject> subject;
  std::vector<fs::path> shards;
  std::string dataset_hash;

  std::unique_ptr<Budget> budget;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Progress> progress;
  std::string thread_source;
  std::vector<int> node_of_rank;
  Cluster cluster;
};

Profiler::Impl::Impl(Communicator& world, const ProfileOptions& asked)
    : communicator(world), options(asked) {
  if (!std::isfinite(options.maximum_seconds) || options.maximum_seconds <= 0)
    throw bad_input("the time limit is not above 0", "give --max-time some seconds, as 30s");
  if (!options.model.empty() && options.dataset.empty())
    throw bad_input("a model was given without a data set",
                    "add --dataset FOLDER, or leave out --model");
  if (!options.task_sizes.empty() && options.model.empty())
    throw bad_input("task sizes were given without a model", "add --model and --dataset");
  if (!options.model_options.empty() && options.model.empty())
    throw bad_input("model options were given without a model", "add --model and --dataset");
  for (const int size : options.task_sizes)
    if (size < 1)
      throw bad_input("a task of " + std::to_string(size) + " samples", "sizes are 1 or more");
  std::sort(options.task_sizes.begin(), options.task_sizes.end());
  options.task_sizes.erase(std::unique(options.task_sizes.begin(), options.task_sizes.end()),
                           options.task_sizes.end());
  if (!options.dataset.empty()) {
    const Dataset dataset(options.dataset, 0);
    dataset_hash = dataset.hash();
    if (options.storage.empty()) shards = shard_files(dataset);
    if (!options.model.empty()) {
      subject =
          std::make_unique<TaskSubject>(options.model, options.model_options, options.dataset);
      if (!options.task_sizes.empty() && options.task_sizes.back() > subject->samples())
        throw bad_input("a task of " + std::to_string(options.task_sizes.back()) +
                            " samples is more than the " + std::to_string(subject->samples()) +
                            " of the split train",
                        "give smaller --task-sizes")
            .with_file(options.dataset.string());
    }
  }
  if (options.storage.empty()) options.storage = ".";
  require_storage_folder(options.storage);
  if (!options.clock) options.clock = monotonic_clock();
}

void Profiler::Impl::begin(const std::string& probe) {
  if (communicator.rank() != 0) return;
  log_debug(format_seconds(budget->elapsed()) + ": " + probe);
  if (!progress)
    progress = std::make_unique<Progress>(
        "profile", static_cast<std::uint64_t>(std::ceil(options.maximum_seconds)), "s");
  progress->set(
      static_cast<std::uint64_t>(std::min(budget->elapsed(), std::floor(options.maximum_seconds))));
  progress->note(probe);
}

void Profiler::Impl::find_nodes() {
  // Ranks of one key with different local ranks share a node; see pairs.h.
  const std::vector<std::string> keys =
      communicator.all_gather_text(communicator.host() + "\n" + boot_id());
  const std::vector<std::vector<double>> local =
      gather_numbers(communicator, std::array{static_cast<double>(communicator.local_rank())});
  std::vector<Place> places;
  for (std::size_t rank = 0; rank < keys.size(); ++rank)
    places.push_back({keys[rank], static_cast<int>(local[rank].front())});
  node_of_rank = assign_nodes(places);

  const NodeProfile mine = node_facts(communicator.host());
  const std::vector<std::string> hosts = communicator.all_gather_text(mine.host);
  const std::vector<std::string> processors = communicator.all_gather_text(mine.processor);
  const std::vector<std::vector<double>> facts = gather_numbers(
      communicator, std::array{static_cast<double>(mine.logical_processors), mine.cpu_quota,
                               static_cast<double>(mine.memory_bytes)});
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (static_cast<std::size_t>(node_of_rank[rank]) < cluster.nodes.size()) continue;
    NodeProfile node;
    node.host = hosts[rank];
    node.processor = processors[rank];
    node.logical_processors = static_cast<int>(facts[rank][0]);
    node.cpu_quota = facts[rank][1];
    node.memory_bytes = static_cast<std::uint64_t>(facts[rank][2]);
    cluster.nodes.push_back(std::move(node));
  }
}

void Profiler::Impl::find_workers() {
  const int threads = threads_per_rank(communicator.local_size(), &thread_source);
  pool = std::make_unique<ThreadPool>(threads);
  const std::vector<std::string> classes =
      communicator.all_gather_text(cpu_numeric_class("native"));
  const std::vector<std::vector<double>> counts =
      gather_numbers(communicator, std::array{static_cast<double>(threads)});
  for (std::size_t rank = 0; rank < classes.size(); ++rank) {
    WorkerProfile worker;
    worker.rank = static_cast<int>(rank);
    worker.node = node_of_rank[rank];
    worker.numeric_class = classes[rank];
    worker.threads = static_cast<int>(counts[rank].front());
    cluster.workers.push_back(std::move(worker));
  }
  say(std::to_string(communicator.size()) + (communicator.size() == 1 ? " worker" : " workers") +
      " on " + std::to_string(cluster.nodes.size()) +
      (cluster.nodes.size() == 1 ? " node; " : " nodes; ") +
      "lanes of worker 0: " + std::to_string(threads) + " (" + thread_source + ")");
}

void Profiler::Impl::measure_products() {
  for (const DType type : {DType::f32, DType::bf16}) {
    begin("matrix products, " + std::string(dtype_name(type)));
    // Alone first: how much the neighbours cost is worth knowing, but the figure that counts is
    // the one with everybody at work.
    double seconds = window(kShares.product_alone);
    ProductRate alone;
    if (communicator.local_rank() == 0) {
      ThreadPool single(1);
      alone = product_rate(single, type, options.clock, seconds);
    }
    communicator.barrier();
    seconds = window(kShares.product);
    communicator.barrier();
    const ProductRate together = product_rate(*pool, type, options.clock, seconds);
    communicator.barrier();
    const std::vector<Measured> rates = gather_measured(communicator, together.flops_per_second);
    for (std::size_t rank = 0; rank < rates.size(); ++rank)
      (type == DType::f32 ? cluster.workers[rank].fp32_flops_per_second
                          : cluster.workers[rank].bf16_flops_per_second) = rates[rank];
    say("matrix products of " + std::to_string(together.size) + ", " +
        std::string(dtype_name(type)) + ": " + rate_text(alone.flops_per_second, "FLOP") +
        " for one thread alone on its node, " + rate_text(together.flops_per_second, "FLOP") +
        " for each with all at work");
  }
}

void Profiler::Impl::measure_memory() {
  begin("memory");
  const double seconds = window(kShares.memory);
  const std::size_t bytes = copy_buffer_bytes(last_cache_bytes(), available_memory_bytes(),
                                              pool->size() * communicator.local_size(), seconds);
  communicator.barrier();
  const Measured mine = copy_rate(*pool, bytes, options.clock, seconds);
  communicator.barrier();
  const std::vector<Measured> rates = gather_measured(communicator, mine);
  for (std::size_t node = 0; node < cluster.nodes.size(); ++node) {
    std::vector<Measured> parts;
    for (std::size_t rank = 0; rank < rates.size(); ++rank)
      if (node_of_rank[rank] == static_cast<int>(node)) parts.push_back(rates[rank]);
    cluster.nodes[node].memory_bandwidth_bytes_per_second = sum_of(parts);
  }
}

void Profiler::Impl::measure_storage() {
  begin("storage");
  const double seconds = window(kShares.storage);
  StorageRate mine;
  communicator.barrier();
  if (communicator.local_rank() == 0)
    mine = storage_read_rate(shards, options.storage, options.clock, seconds);
  communicator.barrier();
  const std::vector<Measured> rates = gather_measured(communicator, mine.bytes_per_second);
  const std::vector<std::string> hows = communicator.all_gather_text(mine.how);
  for (std::size_t rank = 0; rank < rates.size(); ++rank) {
    if (rates[rank].samples == 0) continue;
    NodeProfile& node = cluster.nodes[static_cast<std::size_t>(node_of_rank[rank])];
    node.storage_read_bytes_per_second = rates[rank];
    node.storage_how = hows[rank];
  }
}

void Profiler::Impl::measure_messages() {
  if (communicator.size() == 1) return;
  begin("links");
  const std::vector<Round> rounds = link_rounds(node_of_rank);
  const std::vector<PairRate> pairs =
      measure_links(communicator, rounds, node_of_rank, options.clock, window(kShares.links));
  summarise_links(pairs, cluster);
  for (const Link& link : cluster.link_classes) {
    const bool same_node = link.level == "node";
    double worst = 1;
    std::size_t count = 0;
    for (const PairRate& pair : pairs) {
      if (pair.same_node != same_node) continue;
      worst = std::max(worst, pair.worst_ratio);
      ++count;
    }
    say("links inside " + std::string(same_node ? "nodes" : "the network") + ": " +
        std::to_string(count) + (count == 1 ? " pair measured" : " pairs measured") +
        "; messages take up to " + std::to_string(static_cast<int>(std::lround(100 * worst))) +
        " % of what latency and bandwidth say");
  }
  begin("all-reduce");
  cluster.allreduce_bytes_per_second =
      all_reduce_rate(communicator, options.clock, window(kShares.all_reduce));
}

void Profiler::Impl::measure_model() {
  if (!subject) return;
  TaskProbeOptions task_options;
  task_options.sizes = options.task_sizes;
  task_options.available_memory_bytes = available_memory_bytes();
  task_options.seconds = window(kShares.tasks);
  task_options.started = [this](int size) { begin("tasks of " + std::to_string(size)); };
  const std::vector<TaskTime> mine =
      measure_tasks(communicator, *subject, *pool, options.clock, task_options);
  std::vector<double> numbers;
  for (const TaskTime& task : mine) {
    numbers.insert(numbers.end(),
                   {static_cast<double>(task.samples), static_cast<double>(task.lanes)});
    put(numbers, task.seconds);
  }
  const std::vector<std::vector<double>> all = gather_numbers(communicator, numbers);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    ModelProfile model = subject->profile();
    for (std::size_t at = 0; at + 2 <= all[rank].size();) {
      TaskTime task;
      task.samples = static_cast<int>(all[rank][at]);
      task.lanes = static_cast<int>(all[rank][at + 1]);
      at += 2;
      task.seconds = get(all[rank], at);
      model.tasks.push_back(task);
    }
    cluster.workers[rank].models.push_back(std::move(model));
  }
}

Cluster Profiler::Impl::run() {
  budget = std::make_unique<Budget>(options.clock, kLeftForTheEnd * options.maximum_seconds);
  cluster = {};
  find_nodes();
  find_workers();
  measure_products();
  measure_memory();
  measure_storage();
  measure_messages();
  measure_model();
  progress.reset();
  cluster.profiled_seconds = communicator.all_reduce(budget->elapsed(), ReduceOp::max);
  return cluster;
}

Profiler::Profiler(Communicator& communicator, const ProfileOptions& options)
    : impl_(std::make_unique<Impl>(communicator, options)) {}

Profiler::~Profiler() = default;

std::map<std::string, std::string> Profiler::settings() const {
  std::string sizes;
  for (const int size : impl_->options.task_sizes) sizes += std::to_string(size) + " ";
  return {{"dataset", impl_->dataset_hash},
          {"model", impl_->subject ? impl_->subject->profile().model_hash : ""},
          {"task sizes", sizes},
          {"time limit", std::to_string(impl_->options.maximum_seconds)}};
}

Cluster Profiler::run() {
  return impl_->run();
}

Cluster profile_cluster(Communicator& communicator, const ProfileOptions& options) {
  return Profiler(communicator, options).run();
}

}  // namespace ddl
