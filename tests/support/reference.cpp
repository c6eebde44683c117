#include "support/reference.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "support/reference_ops.h"

namespace ddl {
namespace {

template <class T>
std::vector<double> widened(const HostTensor& tensor) {
  const auto count = static_cast<std::size_t>(element_count(tensor.shape));
  const T* values = tensor.as<T>();
  return {values, values + count};
}

}  // namespace

std::vector<double> to_doubles(const HostTensor& tensor) {
  switch (tensor.dtype) {
    case DType::f32:
      return widened<float>(tensor);
    case DType::f64:
      return widened<double>(tensor);
    case DType::u8:
    case DType::boolean:
      return widened<std::uint8_t>(tensor);
    case DType::i8:
      return widened<std::int8_t>(tensor);
    case DType::u16:
      return widened<std::uint16_t>(tensor);
    case DType::i16:
      return widened<std::int16_t>(tensor);
    case DType::i32:
      return widened<std::int32_t>(tensor);
    case DType::i64:
      return widened<std::int64_t>(tensor);
    case DType::bf16: {
      std::vector<double> values;
      for (const double bits : widened<std::uint16_t>(tensor)) {
        values.push_back(from_bf16(static_cast<std::uint16_t>(bits)));
      }
      return values;
    }
    case DType::f16:
      break;
  }
  throw bad_input("the reference has no float16");
}

ReferenceValues reference_values(const Graph& graph, const ReferenceValues& feeds) {
  ReferenceValues values = feeds;
  for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
    const auto id = static_cast<TensorId>(i);
    const Tensor& tensor = graph.tensor(id);
    if (!values.contains(id) && tensor.value != nullptr) values[id] = to_doubles(*tensor.value);
    if (!values.contains(id) && tensor.role == TensorRole::input) {
      throw bad_input("reference: input '" + tensor.name + "' is not fed");
    }
  }
  for (const auto& [id, fed] : feeds) {
    if (static_cast<std::int64_t>(fed.size()) != element_count(graph.tensor(id).shape)) {
      throw bad_input("reference: '" + graph.tensor(id).name + "' is fed " +
                      std::to_string(fed.size()) + " values for " +
                      shape_text(graph.tensor(id).shape));
    }
  }
  for (const Node& node : graph.nodes()) {
    reference::Call call;
    call.node = &node;
    bool fed = true;
    for (const TensorId id : node.inputs) {
      if (id == kNoTensor) {
        call.inputs.emplace_back();
        continue;
      }
      const auto found = values.find(id);
      if (found == values.end()) {
        throw bad_input("reference: '" + graph.tensor(id).name + "' has no value");
      }
      call.inputs.push_back({graph.tensor(id).shape, &found->second});
    }
    for (const TensorId id : node.outputs) {
      if (id == kNoTensor) {
        call.outputs.emplace_back();
        continue;
      }
      fed = fed && feeds.contains(id);
      const Shape& shape = graph.tensor(id).shape;
      call.outputs.push_back(
          {shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), 0.0),
           graph.tensor(id).dtype});
    }
    if (fed) continue;
    // A fed mask decides what Dropout keeps.
    if (node.op == "Dropout" && node.outputs.size() > 1 && feeds.contains(node.outputs[1])) {
      call.outputs[1].values = feeds.at(node.outputs[1]);
    } else if (node.op == "Dropout" && node.outputs.size() > 1) {
      std::fill(call.outputs[1].values.begin(), call.outputs[1].values.end(), 2.0);
    }
    reference::run(call);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const TensorId id = node.outputs[i];
      if (id != kNoTensor && !feeds.contains(id)) values[id] = std::move(call.outputs[i].values);
    }
  }
  return values;
}

std::vector<std::vector<double>> reference_run(const Graph& graph, const ReferenceValues& feeds) {
  const ReferenceValues values = reference_values(graph, feeds);
  std::vector<std::vector<double>> outputs;
  for (const TensorId id : graph.outputs) outputs.push_back(values.at(id));
  return outputs;
}

std::vector<double> finite_differences(const Graph& graph, const ReferenceValues& feeds, TensorId x,
                                       const std::vector<double>& seed, double step) {
  ReferenceValues values = feeds;
  if (!values.contains(x)) values[x] = to_doubles(*graph.tensor(x).value);
  const auto objective = [&] {
    const auto outputs = reference_run(graph, values);
    double sum = 0;
    for (std::size_t i = 0; i < seed.size(); ++i) sum += seed[i] * outputs[0][i];
    return sum;
  };
  std::vector<double> gradient(values[x].size());
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double kept = values[x][i];
    const double h = step * std::max(1.0, std::abs(kept));
    values[x][i] = kept + h;
    const double above = objective();
    values[x][i] = kept - h;
    const double below = objective();
    values[x][i] = kept;
    gradient[i] = (above - below) / (2 * h);
  }
  return gradient;
}

}  // namespace ddl
