// From a model to what a worker runs per task: loss head, backward pass, statistics.
#pragma once

#include "ddl/artifact/dataset.h"
#include "ddl/model/graph.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

enum class LossKind { softmax_cross_entropy, sigmoid_cross_entropy, squared_error, next_token };

// The loss that goes with a data set's task. Next-token is softmax cross-entropy over every token.
LossKind default_loss(const DatasetManifest& manifest);

// A graph whose outputs are, in this order:
//   loss rows, logits, then one gradient per parameter (graph order), then one value per statistic.
// Inputs: the model's own, then "label" (i64, or f32 for the last two losses) and "weight" (f32),
// one row per sample (per token for next-token).
struct TrainingGraph {
  Graph graph;
  TensorId label = kNoTensor, weight = kNoTensor;
  TensorId loss = kNoTensor, logits = kNoTensor;
  std::vector<TensorId> parameters;  // graph order
  std::vector<TensorId> gradients;   // parallel to parameters; a sum over the task's rows
  // Batch-norm statistics: each running value takes one update a step,
  //   new = (1 - momentum) * old + momentum * mean,
  // with the sample-weighted mean over the step's tasks of this task's mean, or of its variance as the
  // unbiased estimate m/(m-1) * variance, m = samples of the task * values_per_sample.
  struct Statistic {
    TensorId buffer = kNoTensor;  // running value
    TensorId value = kNoTensor;   // this task's mean or population variance
    double momentum = 0.1;
    bool is_variance = false;
    std::int64_t values_per_sample = 1;  // elements per channel and sample: H*W
  };
  std::vector<Statistic> statistics;
};

// `model` is in inference form (BatchNormalization); the training graph has BatchNormTraining.
// Tensor names and ids of parameters and buffers are those of the model. A parameter that no
// gradient reaches is left out of `parameters` and kept as it is, like a buffer.
TrainingGraph make_training_graph(const Graph& model, LossKind loss);

// Inference with loss rows: outputs are loss rows and logits. For evaluation.
TrainingGraph make_evaluation_graph(const Graph& model, LossKind loss);

}  // namespace ddl
