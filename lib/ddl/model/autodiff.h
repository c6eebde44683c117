// Reverse-mode differentiation as graph nodes.
#pragma once

#include "ddl/model/graph.h"

#include <map>
#include <string>
#include <vector>

namespace ddl {

// Handed to each op's gradient rule (op.h).
class GradientBuilder {
 public:
  explicit GradientBuilder(Graph& graph) : graph_(graph) {}
  Graph& graph() { return graph_; }
  // Gradient of an output, kNoTensor when none arrived.
  TensorId output_gradient(TensorId tensor);
  // True when a gradient for this tensor is wanted (it leads to a parameter).
  bool wanted(TensorId tensor) const;
  // Adds one contribution; several are added by one Sum node in order of arrival.
  void contribute(TensorId tensor, TensorId gradient);

 private:
  friend std::vector<TensorId> differentiate(Graph&, TensorId, TensorId,
                                             const std::vector<TensorId>&);
  Graph& graph_;
  std::vector<bool> wanted_;
  std::map<TensorId, std::vector<TensorId>> contributions_;
  std::map<TensorId, TensorId> totals_;
};

// Appends the backward pass of `output` to the graph, given the gradient `seed` of it. Returns the
// gradient of each target, kNoTensor where none reaches it.
std::vector<TensorId> differentiate(Graph& graph, TensorId output, TensorId seed,
                                    const std::vector<TensorId>& targets);

}  // namespace ddl
