#include <algorithm>
#include <cmath>
#include <numeric>

#include "support/reference_ops.h"

namespace ddl::reference {

std::size_t offset_of(const Shape& shape, const std::vector<std::int64_t>& index) {
  std::size_t offset = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    offset = offset * static_cast<std::size_t>(shape[axis]) + static_cast<std::size_t>(index[axis]);
  }
  return offset;
}

std::vector<std::int64_t> index_of(const Shape& shape, std::size_t offset) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = static_cast<std::int64_t>(offset % static_cast<std::size_t>(shape[axis]));
    offset /= static_cast<std::size_t>(shape[axis]);
  }
  return index;
}

std::size_t broadcast_offset(const Shape& shape, const std::vector<std::int64_t>& index) {
  const std::size_t skipped = index.size() - shape.size();
  std::size_t offset = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    offset = offset * static_cast<std::size_t>(shape[axis]) +
             static_cast<std::size_t>(shape[axis] == 1 ? 0 : index[axis + skipped]);
  }
  return offset;
}

namespace {

void sum_to(Call& call) {
  for (std::size_t at = 0; at < call.inputs[0].size(); ++at) {
    const auto i = index_of(call.inputs[0].shape, at);
    call.outputs[0].values[broadcast_offset(call.outputs[0].shape, i)] += call.inputs[0][at];
  }
}

void broadcast_to(Call& call) {
  Result& y = call.outputs[0];
  for (std::size_t at = 0; at < y.values.size(); ++at) {
    y.values[at] = call.inputs[0][broadcast_offset(call.inputs[0].shape, index_of(y.shape, at))];
  }
}

void mean(Call& call) {
  const Operand& x = call.inputs[0];
  Shape kept = x.shape;
  const auto axes = call.node->integers("axes");
  for (std::size_t axis = 0; axis < kept.size(); ++axis) {
    const auto number = static_cast<std::int64_t>(axis);
    const auto rank = static_cast<std::int64_t>(kept.size());
    if (axes.empty() || std::count(axes.begin(), axes.end(), number) > 0 ||
        std::count(axes.begin(), axes.end(), number - rank) > 0) {
      kept[axis] = 1;
    }
  }
  std::vector<double>& y = call.outputs[0].values;
  for (std::size_t at = 0; at < x.size(); ++at) {
    y[broadcast_offset(kept, index_of(x.shape, at))] += x[at];
  }
  for (double& value : y) value /= static_cast<double>(x.size()) / static_cast<double>(y.size());
}

void transpose(Call& call) {
  const Operand& x = call.inputs[0];
  std::vector<std::int64_t> reversed(x.shape.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const auto perm = call.node->integers("perm", reversed);
  Result& y = call.outputs[0];
  for (std::size_t at = 0; at < y.values.size(); ++at) {
    const auto i = index_of(y.shape, at);
    std::vector<std::int64_t> from(i.size());
    for (std::size_t axis = 0; axis < i.size(); ++axis) {
      from[static_cast<std::size_t>(perm[axis])] = i[axis];
    }
    y.values[at] = x[offset_of(x.shape, from)];
  }
}

void concat(Call& call) {
  Result& y = call.outputs[0];
  std::int64_t axis = call.node->integer("axis", 0);
  if (axis < 0) axis += static_cast<std::int64_t>(y.shape.size());
  const auto along = static_cast<std::size_t>(axis);
  std::int64_t start = 0;
  for (const Operand& x : call.inputs) {
    for (std::size_t at = 0; at < x.size(); ++at) {
      auto i = index_of(x.shape, at);
      i[along] += start;
      y.values[offset_of(y.shape, i)] = x[at];
    }
    start += x.shape[along];
  }
}

void slice(Call& call) {
  const Operand& x = call.inputs[0];
  const Node& node = *call.node;
  const auto starts = node.integers("starts");
  std::vector<std::int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = node.integers("axes", all);
  const auto steps = node.integers("steps", std::vector<std::int64_t>(starts.size(), 1));
  Result& y = call.outputs[0];
  for (std::size_t at = 0; at < y.values.size(); ++at) {
    auto i = index_of(y.shape, at);
    for (std::size_t k = 0; k < starts.size(); ++k) {
      const auto axis = static_cast<std::size_t>(
          axes[k] < 0 ? axes[k] + static_cast<std::int64_t>(x.shape.size()) : axes[k]);
      std::int64_t start = starts[k] < 0 ? starts[k] + x.shape[axis] : starts[k];
      start = std::max<std::int64_t>(start, 0);
      i[axis] = start + i[axis] * steps[k];
    }
    y.values[at] = x[offset_of(x.shape, i)];
  }
}

void gather(Call& call) {
  const Operand &table = call.inputs[0], &indices = call.inputs[1];
  const std::size_t width = table.size() / static_cast<std::size_t>(table.shape[0]);
  for (std::size_t row = 0; row < indices.size(); ++row) {
    double index = indices[row];
    if (index < 0) index += static_cast<double>(table.shape[0]);
    for (std::size_t k = 0; k < width; ++k) {
      call.outputs[0].values[row * width + k] = table[static_cast<std::size_t>(index) * width + k];
    }
  }
}

bool is_integer(DType dtype) {
  return dtype != DType::f32 && dtype != DType::f64 && dtype != DType::bf16 && dtype != DType::f16;
}

void copy(Call& call) {
  call.outputs[0].values = *call.inputs[0].values;
  if (call.node->op == "Cast" && is_integer(call.outputs[0].dtype)) {
    for (double& value : call.outputs[0].values) value = std::trunc(value);
  }
}

}  // namespace

bool run_movement(Call& call) {
  const std::string& op = call.node->op;
  if (op == "ReduceSumTo")
    sum_to(call);
  else if (op == "BroadcastTo")
    broadcast_to(call);
  else if (op == "ReduceMean")
    mean(call);
  else if (op == "Transpose")
    transpose(call);
  else if (op == "Concat")
    concat(call);
  else if (op == "Slice")
    slice(call);
  else if (op == "Gather")
    gather(call);
  else if (op == "Reshape" || op == "Flatten" || op == "Identity" || op == "Cast")
    copy(call);
  else
    return false;
  return true;
}

}  // namespace ddl::reference
