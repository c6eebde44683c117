#include "ddl/base/error.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "support/reference_ops.h"

namespace ddl::reference {
namespace {

double binary(const std::string& op, double a, double b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  return op == "Mul" ? a * b : a / b;
}

void broadcast_binary(Call& call) {
  Result& y = call.outputs[0];
  for (std::size_t at = 0; at < y.values.size(); ++at) {
    const auto i = index_of(y.shape, at);
    y.values[at] = binary(call.node->op, call.inputs[0][broadcast_offset(call.inputs[0].shape, i)],
                          call.inputs[1][broadcast_offset(call.inputs[1].shape, i)]);
  }
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double gelu(double x, bool approximate) {
  if (!approximate) return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

using Function = double (*)(double);

Function unary_function(const std::string& op) {
  if (op == "Relu") return [](double x) { return std::max(x, 0.0); };
  if (op == "Tanh") return [](double x) { return std::tanh(x); };
  if (op == "Sigmoid") return sigmoid;
  if (op == "Erf") return [](double x) { return std::erf(x); };
  if (op == "Exp") return [](double x) { return std::exp(x); };
  if (op == "Log") return [](double x) { return std::log(x); };
  if (op == "Sqrt") return [](double x) { return std::sqrt(x); };
  if (op == "Neg") return [](double x) { return -x; };
  if (op == "Reciprocal") return [](double x) { return 1 / x; };
  return nullptr;
}

void gemm(Call& call) {
  const Operand &a = call.inputs[0], &b = call.inputs[1];
  const bool ta = call.node->integer("transA", 0) != 0, tb = call.node->integer("transB", 0) != 0;
  const double alpha = call.node->real("alpha", 1), beta = call.node->real("beta", 1);
  const std::int64_t depth = a.shape[ta ? 0 : 1];
  Result& y = call.outputs[0];
  for (std::size_t at = 0; at < y.values.size(); ++at) {
    const auto i = index_of(y.shape, at);
    double sum = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      sum += a[ta ? offset_of(a.shape, {k, i[0]}) : offset_of(a.shape, {i[0], k})] *
             b[tb ? offset_of(b.shape, {i[1], k}) : offset_of(b.shape, {k, i[1]})];
    }
    y.values[at] = alpha * sum;
    if (call.has(2)) {
      y.values[at] += beta * call.inputs[2][broadcast_offset(call.inputs[2].shape, i)];
    }
  }
}

void matmul(Call& call) {
  const Operand &a = call.inputs[0], &b = call.inputs[1];
  const bool ta = call.node->integer("trans_a", 0) != 0, tb = call.node->integer("trans_b", 0) != 0;
  const std::int64_t depth = a.shape[a.shape.size() - (ta ? 2 : 1)];
  Result& y = call.outputs[0];
  const std::size_t rank = y.shape.size();
  for (std::size_t at = 0; at < y.values.size(); ++at) {
    const auto i = index_of(y.shape, at);
    double sum = 0;
    for (std::int64_t k = 0; k < depth; ++k) {
      auto left = i, right = i;
      left[rank - 2] = ta ? k : i[rank - 2];
      left[rank - 1] = ta ? i[rank - 2] : k;
      right[rank - 2] = tb ? i[rank - 1] : k;
      right[rank - 1] = tb ? k : i[rank - 1];
      sum += a[broadcast_offset(a.shape, left)] * b[broadcast_offset(b.shape, right)];
    }
    y.values[at] = sum;
  }
}

void softmax(Call& call) {
  const Operand& x = call.inputs[0];
  std::int64_t axis = call.node->integer("axis", -1);
  if (axis < 0) axis += static_cast<std::int64_t>(x.shape.size());
  std::size_t inner = 1;
  for (auto i = static_cast<std::size_t>(axis) + 1; i < x.shape.size(); ++i) {
    inner *= static_cast<std::size_t>(x.shape[i]);
  }
  const auto extent = static_cast<std::size_t>(x.shape[static_cast<std::size_t>(axis)]);
  for (std::size_t row = 0; row < x.size() / extent; ++row) {
    const std::size_t start = row / inner * inner * extent + row % inner;
    double largest = x[start], sum = 0;
    for (std::size_t k = 0; k < extent; ++k) largest = std::max(largest, x[start + k * inner]);
    for (std::size_t k = 0; k < extent; ++k) sum += std::exp(x[start + k * inner] - largest);
    for (std::size_t k = 0; k < extent; ++k) {
      call.outputs[0].values[start + k * inner] = std::exp(x[start + k * inner] - largest) / sum;
    }
  }
}

void loss(Call& call) {
  const std::string& op = call.node->op;
  const Operand &logits = call.inputs[0], &label = call.inputs[1], &weight = call.inputs[2];
  const auto columns = static_cast<std::size_t>(logits.shape.back());
  for (std::size_t row = 0; row < weight.size(); ++row) {
    const std::size_t start = row * columns;
    double value = 0;
    if (op == "SoftmaxCrossEntropy") {
      if (weight[row] == 0) continue;
      double largest = logits[start], sum = 0;
      for (std::size_t k = 0; k < columns; ++k) largest = std::max(largest, logits[start + k]);
      for (std::size_t k = 0; k < columns; ++k) sum += std::exp(logits[start + k] - largest);
      value = largest + std::log(sum) - logits[start + static_cast<std::size_t>(label[row])];
    } else {
      for (std::size_t k = 0; k < columns; ++k) {
        const double z = logits[start + k], t = label[start + k];
        value += op == "SquaredError"
                     ? (z - t) * (z - t)
                     : std::max(z, 0.0) - z * t + std::log1p(std::exp(-std::abs(z)));
      }
    }
    call.outputs[0].values[row] = weight[row] * value;
  }
}

void dropout(Call& call) {
  const double keep = 1 - call.node->real("ratio", 0.5);
  for (std::size_t i = 0; i < call.inputs[0].size(); ++i) {
    // 2 stands for "no mask was fed": the input passes through.
    const double mask = call.outputs.size() > 1 ? call.outputs[1].values[i] : 2;
    call.outputs[0].values[i] = call.inputs[0][i] * (mask == 2 ? 1 : mask / keep);
  }
}

}  // namespace

bool run_arithmetic(Call& call) {
  const std::string& op = call.node->op;
  if (const Function function = unary_function(op)) {
    for (std::size_t i = 0; i < call.inputs[0].size(); ++i) {
      call.outputs[0].values[i] = function(call.inputs[0][i]);
    }
  } else if (op == "Gelu") {
    const bool approximate = call.node->text("approximate", "none") == "tanh";
    for (std::size_t i = 0; i < call.inputs[0].size(); ++i) {
      call.outputs[0].values[i] = gelu(call.inputs[0][i], approximate);
    }
  } else if (op == "Sum") {
    for (const Operand& operand : call.inputs) {
      for (std::size_t i = 0; i < operand.size(); ++i) call.outputs[0].values[i] += operand[i];
    }
  } else if (op == "Add" || op == "Sub" || op == "Mul" || op == "Div") {
    broadcast_binary(call);
  } else if (op == "Gemm") {
    gemm(call);
  } else if (op == "MatMul") {
    matmul(call);
  } else if (op == "Softmax") {
    softmax(call);
  } else if (op == "SoftmaxCrossEntropy" || op == "SigmoidCrossEntropy" || op == "SquaredError") {
    loss(call);
  } else if (op == "Dropout") {
    dropout(call);
  } else {
    return false;
  }
  return true;
}

void run(Call& call) {
  if (run_spatial(call) || run_arithmetic(call) || run_movement(call)) return;
  throw bad_input("the reference does not know op " + call.node->op);
}

}  // namespace ddl::reference
