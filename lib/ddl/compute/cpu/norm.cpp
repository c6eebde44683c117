// Batch norm by oneDNN in the layout that the input has, layer norm by rows.
#include "ddl/compute/cpu/makers.h"
#include "ddl/compute/cpu/row_loops.h"

namespace ddl::cpu {
namespace {

using onednn::DataType;
using onednn::MemoryDesc;

struct Planes {
  ValueId value = -1;
  MemoryDesc desc;
};

// The input as [samples, channels, height, width]: images as they lie, anything else as rows of
// one.
Planes planes_of(Compiler& compiler, TensorId id) {
  const Shape& shape = compiler.tensor(id).shape;
  if (shape.size() == 4) {
    const ValueId value = compiler.as_produced(id);
    return {value, compiler.desc_of(value)};
  }
  const std::int64_t rest = element_count(Shape(shape.begin() + 2, shape.end()));
  return {compiler.row_major(id), onednn::row_major({shape[0], shape[1], rest, 1}, DataType::f32)};
}

ValueId output_as(Compiler& compiler, TensorId id, const Planes& like) {
  return compiler.is_row_major(like.value) ? compiler.output(id) : compiler.output(id, like.desc);
}

// An output that may not have been asked for.
ValueId optional_output(Compiler& compiler, const Node& node, std::size_t index,
                        std::int64_t elements) {
  if (Compiler::has_output(node, index)) return compiler.output(node.outputs[index]);
  return compiler.scratch(static_cast<std::size_t>(elements) * sizeof(float));
}

void make_batch_norm(Compiler& compiler, const Node& node) {
  const bool training = node.op == "BatchNormTraining";
  const auto epsilon = static_cast<float>(node.real("epsilon", 1e-5));
  const Planes x = planes_of(compiler, node.inputs[0]);
  const std::int64_t channels = compiler.tensor(node.inputs[0]).shape[1];
  const MemoryDesc per_channel = onednn::row_major({channels}, DataType::f32);
  const auto desc = onednn::batch_norm_forward(training, x.desc, epsilon);
  std::vector<Compiler::Argument> arguments{
      {DNNL_ARG_SRC, x.value, x.desc},
      {DNNL_ARG_SCALE, compiler.row_major(node.inputs[1]), per_channel},
      {DNNL_ARG_SHIFT, compiler.row_major(node.inputs[2]), per_channel}};
  const ValueId mean =
      training ? optional_output(compiler, node, 1, channels) : compiler.row_major(node.inputs[3]);
  const ValueId variance =
      training ? optional_output(compiler, node, 2, channels) : compiler.row_major(node.inputs[4]);
  arguments.push_back({DNNL_ARG_MEAN, mean, per_channel});
  arguments.push_back({DNNL_ARG_VARIANCE, variance, per_channel});
  arguments.push_back({DNNL_ARG_DST, output_as(compiler, node.outputs[0], x), x.desc});
  compiler.call<dnnl::batch_normalization_forward>(desc, std::move(arguments));
}

void make_batch_norm_grad(Compiler& compiler, const Node& node) {
  const auto epsilon = static_cast<float>(node.real("epsilon", 1e-5));
  const TensorId dy = node.inputs[1];
  const Planes x = planes_of(compiler, node.inputs[0]);
  const std::int64_t channels = compiler.tensor(node.inputs[0]).shape[1];
  const MemoryDesc per_channel = onednn::row_major({channels}, DataType::f32);
  const ValueId arriving =
      compiler.is_row_major(x.value) ? compiler.row_major(dy) : compiler.in_layout(dy, x.desc);
  const auto desc = onednn::batch_norm_backward(x.desc, x.desc, epsilon,
                                                onednn::batch_norm_forward(true, x.desc, epsilon));
  const ValueId scale = compiler.row_major(node.inputs[2]);
  compiler.call<dnnl::batch_normalization_backward>(
      desc, {{DNNL_ARG_SRC, x.value, x.desc},
             {DNNL_ARG_DIFF_DST, arriving, x.desc},
             {DNNL_ARG_SCALE, scale, per_channel},
             // Not read, but version 2 fails without it.
             {DNNL_ARG_SHIFT, scale, per_channel},
             {DNNL_ARG_MEAN, compiler.row_major(node.inputs[3]), per_channel},
             {DNNL_ARG_VARIANCE, compiler.row_major(node.inputs[4]), per_channel},
             {DNNL_ARG_DIFF_SRC, output_as(compiler, node.outputs[0], x), x.desc},
             {DNNL_ARG_DIFF_SCALE, optional_output(compiler, node, 1, channels), per_channel},
             {DNNL_ARG_DIFF_SHIFT, optional_output(compiler, node, 2, channels), per_channel}});
}

struct LayerRows {
  std::size_t rows = 1, width = 1;
};

LayerRows layer_rows(const Compiler& compiler, const Node& node) {
  const Shape& shape = compiler.tensor(node.inputs[0]).shape;
  std::int64_t axis = node.integer("axis", -1);
  if (axis < 0) axis += static_cast<std::int64_t>(shape.size());
  LayerRows result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    (static_cast<std::int64_t>(i) < axis ? result.rows : result.width) *=
        static_cast<std::size_t>(shape[i]);
  }
  return result;
}

void make_layer_norm(Compiler& compiler, const Node& node) {
  const LayerRows size = layer_rows(compiler, node);
  const auto epsilon = static_cast<float>(node.real("epsilon", 1e-5));
  const bool bias = Compiler::has_input(node, 2);
  const auto rows = static_cast<std::int64_t>(size.rows);
  const ValueId x = compiler.row_major(node.inputs[0]);
  const ValueId scale = compiler.row_major(node.inputs[1]);
  const ValueId shift = bias ? compiler.row_major(node.inputs[2]) : scale;
  compiler.loop(
      "row loop",
      {x, scale, shift, compiler.output(node.outputs[0]), optional_output(compiler, node, 1, rows),
       optional_output(compiler, node, 2, rows)},
      [size, epsilon, bias](void* const* p, const TaskKey&) {
        const auto f = [p](std::size_t i) { return static_cast<float*>(p[i]); };
        layer_norm(size.rows, size.width, epsilon, f(0), f(1), bias ? f(2) : nullptr, f(3), f(4),
                   f(5));
      });
}

void make_layer_norm_grad(Compiler& compiler, const Node& node) {
  const LayerRows size = layer_rows(compiler, node);
  const auto width = static_cast<std::int64_t>(size.width);
  std::vector<ValueId> operands;
  for (std::size_t i = 0; i < 5; ++i) operands.push_back(compiler.row_major(node.inputs[i]));
  operands.push_back(compiler.output(node.outputs[0]));
  operands.push_back(optional_output(compiler, node, 1, width));
  operands.push_back(optional_output(compiler, node, 2, width));
  compiler.loop("row loop", std::move(operands), [size](void* const* p, const TaskKey&) {
    const auto f = [p](std::size_t i) { return static_cast<float*>(p[i]); };
    layer_norm_slope(size.rows, size.width, f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7));
  });
  compiler.allow_in_place(1, 5);
}

}  // namespace

void add_normalisation(MakerTable& table) {
  table["BatchNormalization"] = make_batch_norm;
  table["BatchNormTraining"] = make_batch_norm;
  table["BatchNormGrad"] = make_batch_norm_grad;
  table["LayerNormalization"] = make_layer_norm;
  table["LayerNormGrad"] = make_layer_norm_grad;
}

}  // namespace ddl::cpu
