// A graph with random values for everything it reads, run by the executor or by the reference.
#pragma once

#include "ddl/base/random.h"
#include "ddl/compute/executor.h"
#include "ddl/model/graph.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/reference.h"

namespace ddl::test {

class Problem {
 public:
  explicit Problem(std::uint64_t seed = 1) : random(seed, "compute test") {}

  // Tensors with normal values, or uniform ones in [low, high).
  TensorId input(Shape shape);
  TensorId input(Shape shape, double low, double high);
  TensorId parameter(Shape shape);
  TensorId buffer(Shape shape, double low, double high);
  TensorId indices(Shape shape, std::int64_t bound, DType dtype = DType::i64);
  // Values for inputs that the graph already has.
  void feed(TensorId id, std::shared_ptr<HostTensor> value) { values[id] = std::move(value); }

  // What the executor and the reference give for graph.outputs.
  std::vector<std::vector<float>> execute(const ExecutorOptions& options = {}) const;
  std::vector<std::vector<float>> execute(const Executor& executor, Lane& lane,
                                          const TaskKey& key = {}) const;
  std::unique_ptr<Executor> executor(const ExecutorOptions& options = {}) const;
  ReferenceValues reference_feeds() const;
  std::vector<TensorBinding> input_bindings() const;
  std::vector<TensorBinding> weight_bindings() const;

  Graph graph;
  std::map<TensorId, std::shared_ptr<HostTensor>> values;
  Random random;

 private:
  TensorId add(TensorRole role, std::shared_ptr<HostTensor> value);
};

// Fills with normal values.
std::shared_ptr<HostTensor> normal_values(Random& random, Shape shape);

// Largest difference, relative to the largest reference value (at least `floor`).
double relative_error(const std::vector<float>& got, const std::vector<double>& want,
                      double floor = 1e-3);

struct OpCase {
  std::string name;
  // Adds inputs and nodes; returns the output to look at.
  std::function<TensorId(Problem&)> build;
  bool differentiable = true;
  double tolerance = 2e-5;
};
// Every forward op of the table, over odd shapes.
const std::vector<OpCase>& op_cases();

}  // namespace ddl::test
