#include "ddl/profile/task_probe.h"

#include "ddl/base/clock.h"
#include "ddl/base/error.h"
#include "ddl/base/units.h"
#include "ddl/comm/exact.h"
#include "ddl/compute/executor.h"
#include "ddl/model/builtin.h"
#include "ddl/model/onnx.h"
#include "ddl/profile/statistics.h"

#include <algorithm>
#include <cstring>
#include <memory>

namespace ddl::profile {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kFirstGradient = 2;  // outputs before it: loss rows, logits
constexpr int kLargestDefaultSize = 256;
// More than are ever run between two calls of begin_step: no sum can overflow.
constexpr std::int64_t kTasksPerStep = 1 << 20;
constexpr double kWindowSeconds = 1;  // a longer one makes the median no better

Graph load_model(const std::string& model, const std::map<std::string, std::string>& options,
                 const DatasetManifest& manifest) {
  const bool file = model.find_first_of("./") != std::string::npos && !is_builtin_model(model);
  if (!file) return build_model(model, options, model_interface(manifest), 1, 1);
  if (!options.empty())
    throw bad_input("options are for built-in models, and this is a file", "leave out --set")
        .with_file(model);
  Graph graph = load_onnx(model).graph;
  const Shape& output = graph.tensor(graph.outputs.front()).shape;
  const std::int64_t wanted = model_interface(manifest).outputs;
  const std::int64_t found = output.size() < 2 ? 1 : output.back();
  if (found != wanted)
    throw bad_input("the model has " + std::to_string(found) + " outputs, the data set needs " +
                        std::to_string(wanted),
                    "use a model made for this data set")
        .with_file(model);
  return graph;
}

std::vector<std::size_t> match_fields(const Graph& model, const std::vector<BatchInput>& inputs) {
  std::vector<std::size_t> out;
  for (const TensorId id : model.inputs) {
    const Tensor& tensor = model.tensor(id);
    auto found = std::find_if(inputs.begin(), inputs.end(),
                              [&](const BatchInput& input) { return input.name == tensor.name; });
    if (found == inputs.end() && inputs.size() == 1 && model.inputs.size() == 1)
      found = inputs.begin();
    const Shape wanted(tensor.shape.begin() + (tensor.shape.empty() ? 0 : 1), tensor.shape.end());
    if (found == inputs.end() || found->shape != wanted ||
        (found->dtype != tensor.dtype &&
         !(found->dtype == DType::i32 && tensor.dtype == DType::i64)))
      throw bad_input("the model's input '" + tensor.name + "' takes " + shape_text(wanted) + " " +
                          std::string(dtype_name(tensor.dtype)) +
                          " a sample, and the data set has no field like that",
                      "use a model made for this data set");
    out.push_back(static_cast<std::size_t>(found - inputs.begin()));
  }
  return out;
}

std::vector<std::byte> widened(const std::vector<std::byte>& codes) {
  std::vector<std::byte> out(codes.size() * 2);
  for (std::size_t i = 0; i < codes.size() / sizeof(std::int32_t); ++i) {
    std::int32_t code = 0;
    std::memcpy(&code, codes.data() + i * sizeof(code), sizeof(code));
    const std::int64_t value = code;
    std::memcpy(out.data() + i * sizeof(value), &value, sizeof(value));
  }
  return out;
}

// Tasks of one size, ready to run.
class Tasks {
 public:
  Tasks(const TaskSubject& subject, int samples, int lanes)
      : training_(make_training_graph(subject.model().with_batch(samples), subject.loss())),
        executor_(make_cpu_executor(training_.graph, {})) {
    const Graph& graph = training_.graph;
    std::vector<TensorBinding> values;
    for (const auto& ids : {graph.parameters(), graph.buffers()})
      for (const TensorId id : ids) values.push_back({id, graph.tensor(id).value->bytes.data()});
    executor_->prepare(values);
    std::vector<std::size_t> sizes;
    for (std::size_t i = kFirstGradient; i < graph.outputs.size(); ++i)
      sizes.push_back(
          static_cast<std::size_t>(element_count(graph.tensor(graph.outputs[i]).shape)));
    accumulator_ = std::make_unique<ExactAccumulator>(sizes, kTasksPerStep);
    for (int lane = 0; lane < lanes; ++lane) load_lane(subject, samples, lane);
    first_look();
  }

  // One task on a lane; lanes may run side by side.
  void run(int lane) {
    Lane_& mine = *lanes_[static_cast<std::size_t>(lane)];
    executor_->run(*mine.lane, mine.inputs, {1, 0, mine.batch.sample_ids},
                   [&](std::size_t output, std::span<const float> values) {
                     if (output >= kFirstGradient)
                       accumulator_->add(static_cast<int>(output - kFirstGradient), values);
                   });
  }
  void begin_step() { accumulator_->begin_step(); }

  std::uint64_t bytes_per_lane() const { return executor_->statistics().lane_bytes; }
  std::uint64_t shared_bytes() const {
    return executor_->statistics().prepared_bytes + accumulator_->bytes();
  }

 private:
  struct Lane_ {
    std::unique_ptr<Lane> lane;
    Batch batch;
    std::vector<TensorBinding> inputs;
  };

  void load_lane(const TaskSubject& subject, int samples, int lane) {
    auto mine = std::make_unique<Lane_>();
    std::vector<std::int64_t> ids;
    for (std::int64_t i = 0; i < samples; ++i)
      ids.push_back((std::int64_t{lane} * samples + i) % subject.samples());
    subject.reader().read(ids, mine->batch);
    mine->batch.sample_ids = std::move(ids);
    std::size_t input = 0;
    for (const TensorId id : training_.graph.inputs) {
      if (id == training_.label) {
        mine->inputs.push_back({id, mine->batch.labels.data()});
      } else if (id == training_.weight) {
        mine->inputs.push_back({id, mine->batch.weights.data()});
      } else {
        const std::size_t field = subject.fields().at(input++);
        std::vector<std::byte>& values = mine->batch.values.at(field);
        if (training_.graph.tensor(id).dtype != subject.reader().inputs()[field].dtype)
          values = widened(values);
        mine->inputs.push_back({id, values.data()});
      }
    }
    mine->lane = executor_->make_lane();
    lanes_.push_back(std::move(mine));
  }

  // Exponents of the accumulator, as training takes them from its first task; also the warm-up.
  void first_look() {
    Lane_& mine = *lanes_.front();
    executor_->run(*mine.lane, mine.inputs, {1, 0, mine.batch.sample_ids},
                   [&](std::size_t output, std::span<const float> values) {
                     if (output >= kFirstGradient)
                       accumulator_->observe_exponents(static_cast<int>(output - kFirstGradient),
                                                       values);
                   });
  }

  TrainingGraph training_;
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<ExactAccumulator> accumulator_;
  std::vector<std::unique_ptr<Lane_>> lanes_;
};

// What the last size took: how the next one's needs are foretold.
struct Last {
  int size = 0;
  double setup_seconds = 0, task_seconds = 0;
  std::uint64_t bytes_per_lane = 0, shared_bytes = 0;
};

bool all_agree(Communicator& communicator, bool mine) {
  return communicator.all_reduce(std::int64_t{mine ? 1 : 0}, ReduceOp::min) == 1;
}

bool fits_memory(const Last& last, int size, int lanes, int local_workers,
                 std::uint64_t available) {
  if (available == 0 || last.size == 0) return true;
  const double growth = static_cast<double>(size) / last.size;
  const double bytes = static_cast<double>(last.bytes_per_lane) * growth * lanes +
                       static_cast<double>(last.shared_bytes);
  return bytes * local_workers < static_cast<double>(available) / 2;
}

bool fits_time(const Last& last, int size, double remaining) {
  if (last.size == 0) return true;
  const double growth = static_cast<double>(size) / last.size;
  // One run to warm up and three to measure, for one lane and for all.
  return last.setup_seconds * growth + 8 * last.task_seconds * growth < remaining;
}

std::vector<int> default_sizes(std::int64_t samples) {
  std::vector<int> out;
  for (int size = 1; size <= kLargestDefaultSize && size <= samples; size *= 2) out.push_back(size);
  return out;
}

TaskTime measure(Tasks& tasks, ThreadPool& pool, int samples, int lanes, const Clock& clock,
                 double seconds) {
  std::vector<std::vector<double>> times(static_cast<std::size_t>(lanes));
  tasks.begin_step();
  const auto body = [&](std::size_t lane) {
    const auto once = [&] {
      const Stopwatch watch;
      tasks.run(static_cast<int>(lane));
      return std::max(watch.seconds(), 1e-9);
    };
    once();  // warm-up
    times[lane] = repeat(clock, {seconds, 2, static_cast<int>(kTasksPerStep) / (2 * lanes)}, once);
  };
  if (lanes == 1) {
    body(0);
  } else {
    pool.parallel_for(times.size(), body);
  }
  std::vector<double> all;
  for (const std::vector<double>& one : times) all.insert(all.end(), one.begin(), one.end());
  return {samples, lanes, measured(std::move(all))};
}

}  // namespace

TaskSubject::TaskSubject(const std::string& model,
                         const std::map<std::string, std::string>& model_options,
                         const fs::path& dataset)
    : dataset_(dataset),
      reader_(dataset_, "train"),
      model_(load_model(model, model_options, dataset_.manifest())),
      loss_(default_loss(dataset_.manifest())),
      samples_(dataset_.manifest().samples("train")),
      fields_(match_fields(model_, reader_.inputs())) {
  if (samples_ < 1) throw bad_input("the split train holds no samples").with_file(dataset.string());
  profile_.model = is_builtin_model(model) ? model : fs::path(model).filename().string();
  profile_.model_hash = model_.structure_hash();
  profile_.dataset_hash = dataset_.hash();
}

std::vector<TaskTime> measure_tasks(Communicator& communicator, const TaskSubject& subject,
                                    ThreadPool& pool, const Clock& clock,
                                    const TaskProbeOptions& options) {
  const bool chosen = !options.sizes.empty();
  const std::vector<int> sizes = chosen ? options.sizes : default_sizes(subject.samples());
  const int lanes = pool.size(), local = communicator.local_size();
  const double start = clock();
  std::vector<TaskTime> out;
  Last last;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const int size = sizes[i];
    double remaining = std::max(0.0, options.seconds - (clock() - start));
    const bool memory = fits_memory(last, size, lanes, local, options.available_memory_bytes);
    if (chosen && !all_agree(communicator, memory))
      throw bad_input("a task of " + std::to_string(size) +
                          " samples needs more than half of the " +
                          format_bytes(options.available_memory_bytes) + " of memory at hand",
                      "leave that size out of --task-sizes");
    if (!chosen && !all_agree(communicator, memory && fits_time(last, size, remaining))) break;
    if (options.started) options.started(size);

    const double before = clock();
    Tasks tasks(subject, size, lanes);
    const double ready = clock();
    last.setup_seconds = ready - before;
    // What is left is dealt evenly over the figures to come; the slowest worker's clock counts.
    remaining = std::max(0.0, options.seconds - (clock() - start));
    const double figures = static_cast<double>(sizes.size() - i) * (lanes > 1 ? 2 : 1);
    const double window =
        communicator.all_reduce(std::min(remaining / figures, kWindowSeconds), ReduceOp::min);
    communicator.barrier();
    out.push_back(measure(tasks, pool, size, 1, clock, window));
    // Every worker takes part in this barrier, those with a single lane too.
    communicator.barrier();
    if (lanes > 1) out.push_back(measure(tasks, pool, size, lanes, clock, window));
    communicator.barrier();
    const double runs = lanes > 1 ? (out.end() - 2)->seconds.samples +
                                        static_cast<double>(out.back().seconds.samples) / lanes
                                  : out.back().seconds.samples;
    last.size = size;
    last.task_seconds = (clock() - ready) / runs;  // by the clock that limits us
    last.bytes_per_lane = tasks.bytes_per_lane();
    last.shared_bytes = tasks.shared_bytes();
  }
  return out;
}

}  // namespace ddl::profile
