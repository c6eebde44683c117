// The ops of the reference interpreter (reference.h).
#pragma once

#include "ddl/model/graph.h"

#include <vector>

namespace ddl::reference {

struct Operand {
  Shape shape;
  const std::vector<double>* values = nullptr;  // nullptr: absent
  double operator[](std::size_t i) const { return (*values)[i]; }
  std::size_t size() const { return values->size(); }
};

struct Result {
  Shape shape;
  std::vector<double> values;
  DType dtype = DType::f32;
};

struct Call {
  const Node* node = nullptr;
  std::vector<Operand> inputs;
  std::vector<Result> outputs;  // sized; values zero
  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].values != nullptr; }
};

// Each returns false for an op that is not its own.
bool run_spatial(Call& call);     // convolution, pools, normalisation
bool run_arithmetic(Call& call);  // element-wise, products, softmax, losses
bool run_movement(Call& call);    // shapes, slices, look-ups, reductions

void run(Call& call);  // throws for an op that none knows

// Row-major position of `index` and back.
std::size_t offset_of(const Shape& shape, const std::vector<std::int64_t>& index);
std::vector<std::int64_t> index_of(const Shape& shape, std::size_t offset);
// Offset in `shape` of the element that broadcasts to `index` of a larger shape.
std::size_t broadcast_offset(const Shape& shape, const std::vector<std::int64_t>& index);

}  // namespace ddl::reference
