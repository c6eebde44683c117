#include <algorithm>
#include <cmath>
#include <limits>

#include "support/reference_ops.h"

namespace ddl::reference {
namespace {

void conv(Call& call) {
  const Node& node = *call.node;
  const Operand &x = call.inputs[0], &w = call.inputs[1];
  Result& y = call.outputs[0];
  const auto strides = node.integers("strides", {1, 1}),
             dilations = node.integers("dilations", {1, 1});
  const auto pads = node.integers("pads", {0, 0, 0, 0});
  const std::int64_t group = node.integer("group", 1);
  const std::int64_t out_per_group = w.shape[0] / group, in_per_group = w.shape[1];
  for (std::size_t at = 0; at < y.values.size(); ++at) {
    const auto i = index_of(y.shape, at);
    const std::int64_t m = i[1];
    double sum = call.has(2) ? call.inputs[2][static_cast<std::size_t>(m)] : 0;
    for (std::int64_t c = 0; c < in_per_group; ++c) {
      for (std::int64_t kh = 0; kh < w.shape[2]; ++kh) {
        for (std::int64_t kw = 0; kw < w.shape[3]; ++kw) {
          const std::int64_t h = i[2] * strides[0] + kh * dilations[0] - pads[0];
          const std::int64_t v = i[3] * strides[1] + kw * dilations[1] - pads[1];
          if (h < 0 || v < 0 || h >= x.shape[2] || v >= x.shape[3]) continue;
          sum += x[offset_of(x.shape, {i[0], m / out_per_group * in_per_group + c, h, v})] *
                 w[offset_of(w.shape, {m, c, kh, kw})];
        }
      }
    }
    y.values[at] = sum;
  }
}

void pool(Call& call) {
  const Node& node = *call.node;
  const Operand& x = call.inputs[0];
  Result& y = call.outputs[0];
  const bool maximum = node.op == "MaxPool";
  const bool count_pad = node.integer("count_include_pad", 0) != 0;
  const auto kernel = node.integers("kernel_shape"), strides = node.integers("strides", {1, 1});
  const auto pads = node.integers("pads", {0, 0, 0, 0});
  for (std::size_t at = 0; at < y.values.size(); ++at) {
    const auto i = index_of(y.shape, at);
    double sum = 0, largest = -std::numeric_limits<double>::infinity(), inside = 0, padded = 0;
    for (std::int64_t kh = 0; kh < kernel[0]; ++kh) {
      for (std::int64_t kw = 0; kw < kernel[1]; ++kw) {
        const std::int64_t h = i[2] * strides[0] + kh - pads[0];
        const std::int64_t v = i[3] * strides[1] + kw - pads[1];
        // Beyond the trailing padding there is nothing to count (ceil_mode).
        if (h < x.shape[2] + pads[2] && v < x.shape[3] + pads[3]) ++padded;
        if (h < 0 || v < 0 || h >= x.shape[2] || v >= x.shape[3]) continue;
        const double value = x[offset_of(x.shape, {i[0], i[1], h, v})];
        sum += value;
        largest = std::max(largest, value);
        ++inside;
      }
    }
    y.values[at] = maximum ? largest : sum / (count_pad ? padded : inside);
  }
}

void global_average(Call& call) {
  const Operand& x = call.inputs[0];
  Result& y = call.outputs[0];
  const auto area = static_cast<std::size_t>(x.shape[2] * x.shape[3]);
  for (std::size_t at = 0; at < y.values.size(); ++at) {
    for (std::size_t i = 0; i < area; ++i) y.values[at] += x[at * area + i];
    y.values[at] /= static_cast<double>(area);
  }
}

// Both forms; training computes the statistics and returns them.
void batch_norm(Call& call) {
  const Operand& x = call.inputs[0];
  const double epsilon = call.node->real("epsilon", 1e-5);
  const bool training = call.node->op == "BatchNormTraining";
  const auto channels = static_cast<std::size_t>(x.shape[1]);
  std::vector<double> mean(channels), variance(channels);
  if (training) {
    const double count = static_cast<double>(x.size()) / static_cast<double>(channels);
    for (std::size_t at = 0; at < x.size(); ++at) {
      mean[static_cast<std::size_t>(index_of(x.shape, at)[1])] += x[at] / count;
    }
    for (std::size_t at = 0; at < x.size(); ++at) {
      const auto c = static_cast<std::size_t>(index_of(x.shape, at)[1]);
      variance[c] += (x[at] - mean[c]) * (x[at] - mean[c]) / count;
    }
    if (call.outputs.size() > 1) call.outputs[1].values = mean;
    if (call.outputs.size() > 2) call.outputs[2].values = variance;
  } else {
    mean = *call.inputs[3].values;
    variance = *call.inputs[4].values;
  }
  for (std::size_t at = 0; at < x.size(); ++at) {
    const auto c = static_cast<std::size_t>(index_of(x.shape, at)[1]);
    call.outputs[0].values[at] =
        (x[at] - mean[c]) / std::sqrt(variance[c] + epsilon) * call.inputs[1][c] +
        call.inputs[2][c];
  }
}

void layer_norm(Call& call) {
  const Operand& x = call.inputs[0];
  const double epsilon = call.node->real("epsilon", 1e-5);
  const std::size_t width = call.inputs[1].size();
  for (std::size_t row = 0; row < x.size() / width; ++row) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < width; ++i) mean += x[row * width + i] / static_cast<double>(width);
    for (std::size_t i = 0; i < width; ++i) {
      const double centred = x[row * width + i] - mean;
      variance += centred * centred / static_cast<double>(width);
    }
    const double inverse = 1 / std::sqrt(variance + epsilon);
    for (std::size_t i = 0; i < width; ++i) {
      call.outputs[0].values[row * width + i] =
          (x[row * width + i] - mean) * inverse * call.inputs[1][i] +
          (call.has(2) ? call.inputs[2][i] : 0);
    }
    if (call.outputs.size() > 1) call.outputs[1].values[row] = mean;
    if (call.outputs.size() > 2) call.outputs[2].values[row] = inverse;
  }
}

}  // namespace

bool run_spatial(Call& call) {
  const std::string& op = call.node->op;
  if (op == "Conv")
    conv(call);
  else if (op == "MaxPool" || op == "AveragePool")
    pool(call);
  else if (op == "GlobalAveragePool")
    global_average(call);
  else if (op == "BatchNormalization" || op == "BatchNormTraining")
    batch_norm(call);
  else if (op == "LayerNormalization")
    layer_norm(call);
  else
    return false;
  return true;
}

}  // namespace ddl::reference
