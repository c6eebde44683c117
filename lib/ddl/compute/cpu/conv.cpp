// Convolutions. Every operand takes the layout that oneDNN asks for: plain nchw is many times
// slower.
#include "ddl/compute/cpu/makers.h"

namespace ddl::cpu {
namespace {

using onednn::DataType;
using onednn::Dims;
using onednn::MemoryDesc;

struct Geometry {
  Dims x, w, y;
  onednn::Window window;
};

Dims dims(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

Geometry geometry(const Node& node, const Shape& x, const Shape& w, const Shape& y) {
  Geometry result{dims(x), dims(w), dims(y), {}};
  const std::int64_t group = node.integer("group", 1);
  if (group > 1) result.w = {group, w[0] / group, w[1], w[2], w[3]};
  const auto pads = node.integers("pads", {0, 0, 0, 0});
  result.window = {node.integers("strides", {1, 1}), node.integers("dilations", {1, 1}),
                   Dims{pads[0], pads[1]}, Dims{pads[2], pads[3]}};
  return result;
}

MemoryDesc bias_desc(const Geometry& shapes) {
  return onednn::row_major({shapes.y[1]}, DataType::f32);
}

onednn::ConvolutionForward forward(const Compiler& compiler, const Geometry& shapes, bool bias) {
  const DataType type = compiler.product_type();
  return onednn::convolution_forward(onednn::any(shapes.x, type), onednn::any(shapes.w, type),
                                     bias ? bias_desc(shapes) : MemoryDesc(),
                                     onednn::any(shapes.y, DataType::f32), shapes.window);
}

void make_conv(Compiler& compiler, const Node& node) {
  const TensorId x = node.inputs[0], w = node.inputs[1], y = node.outputs[0];
  const Geometry shapes =
      geometry(node, compiler.tensor(x).shape, compiler.tensor(w).shape, compiler.tensor(y).shape);
  const bool bias = Compiler::has_input(node, 2);
  const auto desc = forward(compiler, shapes, bias);
  std::vector<Compiler::Argument> arguments{
      {DNNL_ARG_SRC, compiler.in_layout(x, desc.src_desc()), desc.src_desc()},
      {DNNL_ARG_WEIGHTS, compiler.in_layout(w, desc.weights_desc()), desc.weights_desc()}};
  if (bias) {
    arguments.push_back({DNNL_ARG_BIAS, compiler.row_major(node.inputs[2]), bias_desc(shapes)});
  }
  arguments.push_back({DNNL_ARG_DST, compiler.output(y, desc.dst_desc()), desc.dst_desc()});
  compiler.call<dnnl::convolution_forward>(desc, std::move(arguments));
}

void make_conv_grad_input(Compiler& compiler, const Node& node) {
  const TensorId dy = node.inputs[0], w = node.inputs[1], dx = node.outputs[0];
  const Geometry shapes = geometry(node, compiler.tensor(dx).shape, compiler.tensor(w).shape,
                                   compiler.tensor(dy).shape);
  const DataType type = compiler.product_type();
  const auto desc = onednn::convolution_backward_data(
      onednn::any(shapes.x, DataType::f32), onednn::any(shapes.w, type),
      onednn::any(shapes.y, type), shapes.window, forward(compiler, shapes, false));
  compiler.call<dnnl::convolution_backward_data>(
      desc,
      {{DNNL_ARG_DIFF_DST, compiler.in_layout(dy, desc.diff_dst_desc()), desc.diff_dst_desc()},
       {DNNL_ARG_WEIGHTS, compiler.in_layout(w, desc.weights_desc()), desc.weights_desc()},
       {DNNL_ARG_DIFF_SRC, compiler.output(dx, desc.diff_src_desc()), desc.diff_src_desc()}});
}

void make_conv_grad_weight(Compiler& compiler, const Node& node) {
  const TensorId x = node.inputs[0], dy = node.inputs[1], dw = node.outputs[0];
  const Geometry shapes = geometry(node, compiler.tensor(x).shape, compiler.tensor(dw).shape,
                                   compiler.tensor(dy).shape);
  const DataType type = compiler.product_type();
  const bool bias = Compiler::has_output(node, 1);
  const auto desc = onednn::convolution_backward_weights(
      onednn::any(shapes.x, type), onednn::any(shapes.w, DataType::f32),
      bias ? bias_desc(shapes) : MemoryDesc(), onednn::any(shapes.y, type), shapes.window,
      forward(compiler, shapes, bias));
  std::vector<Compiler::Argument> arguments{
      {DNNL_ARG_SRC, compiler.in_layout(x, desc.src_desc()), desc.src_desc()},
      {DNNL_ARG_DIFF_DST, compiler.in_layout(dy, desc.diff_dst_desc()), desc.diff_dst_desc()},
      {DNNL_ARG_DIFF_WEIGHTS, compiler.output(dw, desc.diff_weights_desc()),
       desc.diff_weights_desc()}};
  if (bias) {
    arguments.push_back({DNNL_ARG_DIFF_BIAS, compiler.output(node.outputs[1]), bias_desc(shapes)});
  }
  compiler.call<dnnl::convolution_backward_weights>(desc, std::move(arguments));
}

}  // namespace

void add_convolution(MakerTable& table) {
  table["Conv"] = make_conv;
  table["ConvGradInput"] = make_conv_grad_input;
  table["ConvGradWeight"] = make_conv_grad_weight;
}

}  // namespace ddl::cpu
