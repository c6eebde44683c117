// What the op entries share: operand access, checks and the shape arithmetic of ONNX.
//
// Each family of ops has one file with one function that adds its entries to the table. The
// functions are called by op.cpp: nothing registers itself. Errors: bad_input that says what does
// not fit; Graph adds node and shapes.
#pragma once

#include "ddl/model/autodiff.h"
#include "ddl/model/graph.h"
#include "ddl/model/op.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ddl::ops {

using OpTable = std::map<std::string, OpDefinition, std::less<>>;

void add_convolution(OpTable& table);
void add_pooling(OpTable& table);
void add_normalisation(OpTable& table);
void add_matrix(OpTable& table);
void add_elementwise(OpTable& table);
void add_activation(OpTable& table);
void add_reduction(OpTable& table);
void add_shape(OpTable& table);
void add_indexing(OpTable& table);
void add_loss(OpTable& table);

void add(OpTable& table, OpDefinition definition);

void require(bool condition, const std::string& otherwise);
bool has_input(const Node& node, std::size_t index);
const Tensor& input(const Graph& graph, const Node& node, std::size_t index);
// Throws unless the operand is f32.
void require_f32(const Tensor& tensor);
void require_rank(const Tensor& tensor, std::size_t rank, const std::string& what);
void require_shape(const Tensor& tensor, const Shape& shape, const std::string& what);

void set(Tensor& result, DType dtype, Shape shape);
// The axis counted from the front; bad_input when it is out of range for the rank.
std::size_t resolve_axis(std::int64_t axis, std::size_t rank);
// numpy's broadcasting of two shapes; bad_input when they do not fit.
Shape broadcast(const Shape& a, const Shape& b);
double elements(const Tensor& tensor);

// The sliding window of convolutions and pools over the last two axes.
struct Window {
  std::array<std::int64_t, 2> kernel{}, strides{}, dilations{};
  std::array<std::int64_t, 4> pads{};  // top, left, bottom, right
  bool ceil_mode = false;
};
Window window_of(const Node& node, std::int64_t kernel_height, std::int64_t kernel_width);
Window pooling_window(const Node& node);
// Extents of the output for an input of `height` x `width`.
std::array<std::int64_t, 2> window_output(const Window& window, std::int64_t height,
                                          std::int64_t width);

// Attributes of `node` with one more.
std::map<std::string, Attribute> with(const Node& node, std::string key, Attribute value);

// Rules used by several families.
void same_as_first_input(const Graph& graph, const Node& node, std::vector<Tensor>& outputs);
// dx has the shape of attribute `x_shape`, f32.
void shape_from(const Node& node, const std::string& key, Tensor& result);
// The gradient summed over the axes along which `like` was broadcast.
TensorId reduced_to(GradientBuilder& builder, TensorId gradient, TensorId like);
// A constant of one value, broadcast against anything of rank 1 or more.
TensorId scalar(Graph& graph, double value);

}  // namespace ddl::ops
