#include "unit/compute/problem.h"

#include <algorithm>
#include <cmath>

namespace ddl::test {

std::shared_ptr<HostTensor> normal_values(Random& random, Shape shape) {
  auto tensor = make_host_tensor(DType::f32, std::move(shape));
  const auto count = static_cast<std::size_t>(element_count(tensor->shape));
  for (std::size_t i = 0; i < count; ++i) {
    tensor->as<float>()[i] = static_cast<float>(random.normal());
  }
  return tensor;
}

TensorId Problem::add(TensorRole role, std::shared_ptr<HostTensor> value) {
  const std::string name = "t" + std::to_string(graph.tensor_count());
  TensorId id = kNoTensor;
  if (role == TensorRole::input) id = graph.add_input(name, value->dtype, value->shape);
  if (role == TensorRole::parameter) id = graph.add_parameter(name, value);
  if (role == TensorRole::buffer) id = graph.add_buffer(name, value);
  values[id] = std::move(value);
  return id;
}

TensorId Problem::input(Shape shape) {
  return add(TensorRole::input, normal_values(random, std::move(shape)));
}

TensorId Problem::parameter(Shape shape) {
  return add(TensorRole::parameter, normal_values(random, std::move(shape)));
}

namespace {
std::shared_ptr<HostTensor> uniform_values(Random& random, Shape shape, double low, double high) {
  auto tensor = make_host_tensor(DType::f32, std::move(shape));
  const auto count = static_cast<std::size_t>(element_count(tensor->shape));
  for (std::size_t i = 0; i < count; ++i) {
    tensor->as<float>()[i] = static_cast<float>(low + (high - low) * random.uniform());
  }
  return tensor;
}
}  // namespace

TensorId Problem::input(Shape shape, double low, double high) {
  return add(TensorRole::input, uniform_values(random, std::move(shape), low, high));
}

TensorId Problem::buffer(Shape shape, double low, double high) {
  return add(TensorRole::buffer, uniform_values(random, std::move(shape), low, high));
}

TensorId Problem::indices(Shape shape, std::int64_t bound, DType dtype) {
  auto tensor = make_host_tensor(dtype, std::move(shape));
  const auto count = static_cast<std::size_t>(element_count(tensor->shape));
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(bound)));
    if (dtype == DType::i32) {
      tensor->as<std::int32_t>()[i] = static_cast<std::int32_t>(index);
    } else {
      tensor->as<std::int64_t>()[i] = index;
    }
  }
  return add(TensorRole::input, std::move(tensor));
}

std::vector<TensorBinding> Problem::input_bindings() const {
  std::vector<TensorBinding> bindings;
  for (const auto& [id, value] : values) {
    if (graph.tensor(id).role == TensorRole::input) bindings.push_back({id, value->bytes.data()});
  }
  return bindings;
}

std::vector<TensorBinding> Problem::weight_bindings() const {
  std::vector<TensorBinding> bindings;
  for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const Tensor& tensor = graph.tensor(id);
    if (tensor.role != TensorRole::parameter && tensor.role != TensorRole::buffer) continue;
    const auto own = values.find(id);
    bindings.push_back(
        {id, own != values.end() ? own->second->bytes.data() : tensor.value->bytes.data()});
  }
  return bindings;
}

std::unique_ptr<Executor> Problem::executor(const ExecutorOptions& options) const {
  auto made = make_cpu_executor(graph, options);
  made->prepare(weight_bindings());
  return made;
}

std::vector<std::vector<float>> Problem::execute(const Executor& executor, Lane& lane,
                                                 const TaskKey& key) const {
  std::vector<std::vector<float>> outputs(graph.outputs.size());
  executor.run(lane, input_bindings(), key, [&](std::size_t output, std::span<const float> given) {
    outputs[output].assign(given.begin(), given.end());
  });
  return outputs;
}

std::vector<std::vector<float>> Problem::execute(const ExecutorOptions& options) const {
  const auto made = executor(options);
  const auto lane = made->make_lane();
  return execute(*made, *lane);
}

ReferenceValues Problem::reference_feeds() const {
  ReferenceValues feeds;
  for (const auto& [id, value] : values) feeds[id] = to_doubles(*value);
  return feeds;
}

double relative_error(const std::vector<float>& got, const std::vector<double>& want,
                      double floor) {
  if (got.size() != want.size()) return INFINITY;
  double largest = floor, difference = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (!std::isfinite(got[i])) return INFINITY;
    largest = std::max(largest, std::abs(want[i]));
    difference = std::max(difference, std::abs(static_cast<double>(got[i]) - want[i]));
  }
  return difference / largest;
}

}  // namespace ddl::test
