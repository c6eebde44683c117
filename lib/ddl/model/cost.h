// What a model costs: per-layer table for people, totals for the planner. Needs no device.
#pragma once

#include "ddl/model/graph.h"
#include "ddl/model/training.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ddl {

struct LayerCost {
  std::string node, op, output_shape;
  std::int64_t parameters = 0;
  double flops = 0;             // forward, one sample
  double activation_bytes = 0;  // output, one sample
};

struct ModelCost {
  std::vector<LayerCost> layers;
  std::int64_t parameters = 0, buffers = 0;
  double forward_flops_per_sample = 0;
  double training_flops_per_sample = 0;    // forward and backward, per further sample of a task
  double training_bytes_per_sample = 0;    // the same, if every operand passes through memory once
  double activation_bytes_per_sample = 0;  // all forward outputs kept
};

ModelCost model_cost(const Graph& model, LossKind loss);

}  // namespace ddl
