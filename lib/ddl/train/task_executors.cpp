#include "ddl/train/task_executors.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <cstring>

namespace ddl {
namespace {

std::string names_of(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out.empty() ? "none" : out;
}

bool convertible(DType from, DType to) {
  return from == to || (from == DType::i32 && to == DType::i64);
}

// The reader's codes are int32; models from elsewhere may want int64.
std::vector<std::int64_t> widened(const std::vector<std::byte>& bytes) {
  std::vector<std::int64_t> out(bytes.size() / sizeof(std::int32_t));
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::int32_t value = 0;
    std::memcpy(&value, bytes.data() + i * sizeof(value), sizeof(value));
    out[i] = value;
  }
  return out;
}

}  // namespace

std::vector<std::size_t> match_inputs(const Graph& model, const std::vector<BatchInput>& inputs) {
  std::vector<std::size_t> out;
  std::vector<std::string> wanted, given;
  for (const TensorId id : model.inputs) wanted.push_back(model.tensor(id).name);
  for (const BatchInput& input : inputs) given.push_back(input.name);
  for (const TensorId id : model.inputs) {
    const Tensor& tensor = model.tensor(id);
    auto found = std::find(given.begin(), given.end(), tensor.name);
    if (found == given.end() && inputs.size() == 1 && model.inputs.size() == 1)
      found = given.begin();
    if (found == given.end())
      throw bad_input(
          "the model's input '" + tensor.name + "' is not a field of the data set",
          "the model takes " + names_of(wanted) + "; the data set has " + names_of(given));
    const auto place = static_cast<std::size_t>(found - given.begin());
    const BatchInput& input = inputs[place];
    const Shape sample(tensor.shape.begin() + (tensor.shape.empty() ? 0 : 1), tensor.shape.end());
    if (sample != input.shape || !convertible(input.dtype, tensor.dtype))
      throw bad_input("the model's input '" + tensor.name + "' takes " + shape_text(sample) + " " +
                          std::string(dtype_name(tensor.dtype)) + " a sample, the field '" +
                          input.name + "' gives " + shape_text(input.shape) + " " +
                          std::string(dtype_name(input.dtype)),
                      "use a model made for this data set");
    out.push_back(place);
  }
  return out;
}

TaskExecutors::TaskExecutors(Build build, const std::vector<BatchInput>& inputs,
                             ExecutorOptions options, int lanes)
    : build_(std::move(build)), inputs_(inputs), options_(std::move(options)), lane_count_(lanes) {}

TaskExecutors::Entry& TaskExecutors::compiled(std::int64_t samples) {
  const auto found = entries_.find(samples);
  if (found != entries_.end()) return found->second;
  Entry entry;
  entry.training = build_(samples);
  entry.executor = make_cpu_executor(entry.training.graph, options_);
  for (int lane = 0; lane < lane_count_; ++lane) entry.lanes.push_back(entry.executor->make_lane());
  return entries_.emplace(samples, std::move(entry)).first->second;
}

TaskExecutors::Entry& TaskExecutors::prepared(std::int64_t samples, const Weights& weights) {
  Entry& entry = compiled(samples);
  if (entry.weights_version != weights.version()) {
    entry.executor->prepare(weights.bindings());
    entry.weights_version = weights.version();
  }
  return entry;
}

void TaskExecutors::run(const Batch& batch, int lane, const TaskKey& key,
                        const OutputSink& sink) const {
  const Entry& entry = entries_.at(static_cast<std::int64_t>(batch.sample_ids.size()));
  const TrainingGraph& training = entry.training;
  std::vector<TensorBinding> bindings;
  std::vector<std::vector<std::int64_t>> converted;
  converted.reserve(training.graph.inputs.size());
  for (const TensorId id : training.graph.inputs) {
    if (id == training.label) {
      bindings.push_back({id, batch.labels.data()});
    } else if (id == training.weight) {
      bindings.push_back({id, batch.weights.data()});
    } else {
      const Tensor& tensor = training.graph.tensor(id);
      std::size_t place = 0;
      if (inputs_.size() > 1)
        place = static_cast<std::size_t>(
            std::find_if(inputs_.begin(), inputs_.end(),
                         [&](const BatchInput& input) { return input.name == tensor.name; }) -
            inputs_.begin());
      const void* data = batch.values.at(place).data();
      if (tensor.dtype != inputs_[place].dtype)
        data = converted.emplace_back(widened(batch.values[place])).data();
      bindings.push_back({id, data});
    }
  }
  entry.executor->run(*entry.lanes.at(static_cast<std::size_t>(lane)), bindings, key, sink);
}

}  // namespace ddl
