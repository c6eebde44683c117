// A naive interpreter of graphs: plain loops over row-major arrays of double. The independent
// reference for what the executor computes and for gradients by finite differences. It knows every
// forward op and loss of ddl/model/op.h, and no gradient op.
//
// Integers (class indices, token ids) are fed and kept as doubles. Dropout passes its input
// through, unless its mask is fed, which then decides what is kept. MaxPool's indices and other
// opaque outputs are not computed.
#pragma once

#include "ddl/model/graph.h"

#include <map>
#include <vector>

namespace ddl {

using ReferenceValues = std::map<TensorId, std::vector<double>>;

// Values of the graph's outputs, in order. `feeds` gives the graph's inputs and may replace any
// other tensor; parameters, buffers and constants that are not fed have the graph's values.
std::vector<std::vector<double>> reference_run(const Graph& graph, const ReferenceValues& feeds);

// The same with the values of every tensor that was computed.
ReferenceValues reference_values(const Graph& graph, const ReferenceValues& feeds);

std::vector<double> to_doubles(const HostTensor& tensor);

// Gradient of sum_i seed_i * y_i with respect to tensor `x`, y the graph's first output, by central
// differences with step h = step * max(1, |x|).
std::vector<double> finite_differences(const Graph& graph, const ReferenceValues& feeds, TensorId x,
                                       const std::vector<double>& seed, double step = 1e-5);

}  // namespace ddl
