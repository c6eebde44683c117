// Optimizers over fp32 masters, element by element, so that no order of work can change a bit.
//
//   sgd    g += decay * w;  v = momentum * v + g;  w -= rate * v          (v starts at 0)
//   adamw  w -= rate * decay * w;  m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2
//          w -= rate * (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)
// as PyTorch's SGD (no dampening, no Nesterov) and AdamW (Loshchilov and Hutter, ICLR 2019); t
// counts updates, not skipped steps. Arithmetic: kernels/.
//
// Threads: one owner, but for update() on disjoint ranges.
#pragma once

#include "ddl/artifact/run.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ddl {

class Optimizer {
 public:
  // bad_input for an unknown name or a coefficient out of range.
  Optimizer(const TrainingRecipe& recipe, std::vector<std::size_t> sizes);

  // Call begin_update() once a step, then update() for every element: elements
  // [first, first + gradient.size()) of one parameter, with the mean gradient. Ranges that do not
  // meet may be updated by several threads at once.
  void begin_update() { ++updates_; }
  void update(std::size_t parameter, std::size_t first, float learning_rate,
              std::span<const float> gradient, std::span<float> weights);

  // State for checkpoints: names ("momentum"; "m", "v") with one vector per parameter.
  std::vector<std::pair<std::string, std::vector<std::vector<float>>*>> state();
  std::int64_t updates() const { return updates_; }
  void set_updates(std::int64_t updates) { updates_ = updates; }
  std::uint64_t bytes() const;
  // Bytes of state per parameter element.
  static std::size_t state_bytes_per_element(const TrainingRecipe& recipe);

 private:
  TrainingRecipe recipe_;
  bool adamw_;
  std::int64_t updates_ = 0;
  std::vector<std::vector<float>> first_, second_;
};

}  // namespace ddl
