// Losses and the gradients that start the backward pass. Labels are data: each is checked.
// A row of weight 0 is ignored, whatever its label.
#include "ddl/base/error.h"
#include "ddl/compute/cpu/makers.h"
#include "ddl/compute/cpu/row_loops.h"

#include <algorithm>

namespace ddl::cpu {
namespace {

struct Rows {
  std::size_t count = 0, width = 0;
};

Rows rows_of(const Compiler& compiler, const Node& node) {
  const Shape& logits = compiler.tensor(node.inputs[0]).shape;
  return {static_cast<std::size_t>(element_count(compiler.tensor(node.inputs[2]).shape)),
          static_cast<std::size_t>(logits.back())};
}

template <class Label>
std::size_t checked_class(const Label* labels, std::size_t row, std::size_t classes) {
  const auto label = static_cast<std::int64_t>(labels[row]);
  if (label < 0 || label >= static_cast<std::int64_t>(classes)) {
    throw failure("label " + std::to_string(label) + " in row " + std::to_string(row) +
                      " is outside of " + std::to_string(classes) + " classes",
                  "the data hold more classes than the model has outputs");
  }
  return static_cast<std::size_t>(label);
}

std::vector<ValueId> operands(Compiler& compiler, const Node& node) {
  return {compiler.row_major(node.inputs[0]), compiler.row_major(node.inputs[1]),
          compiler.row_major(node.inputs[2]), compiler.output(node.outputs[0])};
}

template <class Label>
void softmax_loss(Compiler& compiler, const Node& node) {
  const Rows rows = rows_of(compiler, node);
  compiler.loop("row loop", operands(compiler, node), [rows](void* const* p, const TaskKey&) {
    const auto* logits = static_cast<const float*>(p[0]);
    const auto* labels = static_cast<const Label*>(p[1]);
    const auto* weights = static_cast<const float*>(p[2]);
    auto* loss = static_cast<float*>(p[3]);
    for (std::size_t row = 0; row < rows.count; ++row, logits += rows.width) {
      loss[row] = 0;
      if (weights[row] == 0) continue;
      const std::size_t label = checked_class(labels, row, rows.width);
      loss[row] = weights[row] * (log_sum_exp(rows.width, logits) - logits[label]);
    }
  });
}

template <class Label>
void softmax_loss_grad(Compiler& compiler, const Node& node) {
  const Rows rows = rows_of(compiler, node);
  compiler.loop("row loop", operands(compiler, node), [rows](void* const* p, const TaskKey&) {
    const auto* logits = static_cast<const float*>(p[0]);
    const auto* labels = static_cast<const Label*>(p[1]);
    const auto* weights = static_cast<const float*>(p[2]);
    auto* gradient = static_cast<float*>(p[3]);
    for (std::size_t row = 0; row < rows.count;
         ++row, logits += rows.width, gradient += rows.width) {
      if (weights[row] == 0) {
        std::fill_n(gradient, rows.width, 0.0F);
        continue;
      }
      const std::size_t label = checked_class(labels, row, rows.width);
      cross_entropy_slope(rows.width, logits, label, weights[row], gradient);
    }
  });
}

template <void (*with_i32)(Compiler&, const Node&), void (*with_i64)(Compiler&, const Node&)>
void by_label_type(Compiler& compiler, const Node& node) {
  (compiler.tensor(node.inputs[1]).dtype == DType::i32 ? with_i32 : with_i64)(compiler, node);
}

using RowLoss = float (*)(std::size_t count, const float* x, const float* target);
using RowSlope = void (*)(std::size_t count, const float* x, const float* target, float factor,
                          float* dx);

template <RowLoss function>
void target_loss(Compiler& compiler, const Node& node) {
  const Rows rows = rows_of(compiler, node);
  compiler.loop("row loop", operands(compiler, node), [rows](void* const* p, const TaskKey&) {
    const auto* x = static_cast<const float*>(p[0]);
    const auto* target = static_cast<const float*>(p[1]);
    const auto* weights = static_cast<const float*>(p[2]);
    auto* loss = static_cast<float*>(p[3]);
    for (std::size_t row = 0; row < rows.count; ++row, x += rows.width, target += rows.width) {
      loss[row] = weights[row] == 0 ? 0 : weights[row] * function(rows.width, x, target);
    }
  });
}

template <RowSlope function>
void target_loss_grad(Compiler& compiler, const Node& node) {
  const Rows rows = rows_of(compiler, node);
  compiler.loop("row loop", operands(compiler, node), [rows](void* const* p, const TaskKey&) {
    const auto* x = static_cast<const float*>(p[0]);
    const auto* target = static_cast<const float*>(p[1]);
    const auto* weights = static_cast<const float*>(p[2]);
    auto* gradient = static_cast<float*>(p[3]);
    for (std::size_t row = 0; row < rows.count; ++row) {
      const std::size_t at = row * rows.width;
      if (weights[row] == 0) {
        std::fill_n(gradient + at, rows.width, 0.0F);
      } else {
        function(rows.width, x + at, target + at, weights[row], gradient + at);
      }
    }
  });
}

}  // namespace

void add_loss(MakerTable& table) {
  table["SoftmaxCrossEntropy"] =
      by_label_type<softmax_loss<std::int32_t>, softmax_loss<std::int64_t>>;
  table["SoftmaxCrossEntropyGrad"] =
      by_label_type<softmax_loss_grad<std::int32_t>, softmax_loss_grad<std::int64_t>>;
  table["SigmoidCrossEntropy"] = target_loss<sigmoid_cross_entropy>;
  table["SigmoidCrossEntropyGrad"] = target_loss_grad<sigmoid_cross_entropy_slope>;
  table["SquaredError"] = target_loss<squared_error>;
  table["SquaredErrorGrad"] = target_loss_grad<squared_error_slope>;
}

}  // namespace ddl::cpu
