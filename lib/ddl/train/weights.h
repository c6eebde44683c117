// The model's state on one worker: fp32 masters of every parameter, and the buffers, in graph order
// (parameters, then buffers). Every worker holds all of it and updates all of it alike.
//
// Ownership: Weights owns the values; bindings() points into them. Threads: one owner; const access
// beside it is safe while nothing changes.
#pragma once

#include "ddl/compute/executor.h"
#include "ddl/model/graph.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ddl {

struct Weight {
  TensorId tensor = kNoTensor;  // in the model's graph, and in graphs made from it
  std::string name;
  bool is_parameter = true;
  std::shared_ptr<HostTensor> value;
};

class Weights {
 public:
  // Copies the graph's initial values. bad_input for a parameter that is not float32.
  explicit Weights(const Graph& model);

  const std::vector<Weight>& all() const { return weights_; }
  const Weight* find(std::string_view name) const;
  // Values of a float32 tensor, to change; call changed() afterwards.
  std::span<float> values(TensorId tensor);
  void changed() { ++version_; }
  std::uint64_t version() const { return version_; }  // tells executors whether they are up to date
  std::uint64_t bytes() const;

  // All values for Executor::prepare.
  std::vector<TensorBinding> bindings() const;
  std::map<std::string, std::shared_ptr<const HostTensor>> by_name() const;
  // parameters_hash: XXH3-128 over, for each tensor in graph order: name, a zero byte, dtype name,
  // a zero byte, rank and extents as u64, then the values; all little-endian.
  std::string hash() const;

  // Takes over values by name and shape from another model (--init). Returns one line per tensor of
  // this model that found none, and per tensor of the other that was left over.
  std::vector<std::string> take_from(const Graph& other);

 private:
  std::vector<Weight> weights_;
  std::map<TensorId, std::size_t> by_tensor_;
  std::uint64_t version_ = 1;
};

}  // namespace ddl
