#include "ddl/model/ops/rules.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <string_view>

namespace ddl::ops {
namespace {
// Windows beyond these make no sense and would overflow the arithmetic below.
constexpr std::int64_t kLargestExtent = std::int64_t{1} << 31;

std::vector<std::int64_t> list(const Node& node, const std::string& key, std::size_t size,
                               std::int64_t fallback, std::int64_t least) {
  std::vector<std::int64_t> values = node.integers(key, std::vector<std::int64_t>(size, fallback));
  require(values.size() == size, "attribute '" + key + "' has " + std::to_string(values.size()) +
                                     " values, expected " + std::to_string(size));
  for (const std::int64_t value : values) {
    require(value >= least && value < kLargestExtent,
            "attribute '" + key + "' holds " + std::to_string(value));
  }
  return values;
}
}  // namespace

void add(OpTable& table, OpDefinition definition) {
  std::string name = definition.name;
  table.emplace(std::move(name), std::move(definition));
}

void require(bool condition, const std::string& otherwise) {
  if (!condition) throw bad_input(otherwise);
}

bool has_input(const Node& node, std::size_t index) {
  return index < node.inputs.size() && node.inputs[index] != kNoTensor;
}

const Tensor& input(const Graph& graph, const Node& node, std::size_t index) {
  require(has_input(node, index), "input " + std::to_string(index) + " is missing");
  return graph.tensor(node.inputs[index]);
}

void require_f32(const Tensor& tensor) {
  require(
      tensor.dtype == DType::f32,
      "'" + tensor.name + "' is " + std::string(dtype_name(tensor.dtype)) + ", expected float32");
}

void require_rank(const Tensor& tensor, std::size_t rank, const std::string& what) {
  require(tensor.shape.size() == rank, what + " has " + std::to_string(tensor.shape.size()) +
                                           " axes, expected " + std::to_string(rank));
}

void require_shape(const Tensor& tensor, const Shape& shape, const std::string& what) {
  require(tensor.shape == shape,
          what + " has shape " + shape_text(tensor.shape) + ", expected " + shape_text(shape));
}

void set(Tensor& result, DType dtype, Shape shape) {
  result.dtype = dtype;
  result.shape = std::move(shape);
}

std::size_t resolve_axis(std::int64_t axis, std::size_t rank) {
  const auto axes = static_cast<std::int64_t>(rank);
  require(axis >= -axes && axis < axes,
          "axis " + std::to_string(axis) + " of " + std::to_string(rank) + " axes");
  return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::int64_t from_a = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t from_b = i < b.size() ? b[b.size() - 1 - i] : 1;
    require(from_a == from_b || from_a == 1 || from_b == 1,
            "shapes " + shape_text(a) + " and " + shape_text(b) + " do not broadcast");
    result[result.size() - 1 - i] = from_a == 1 ? from_b : from_a;
  }
  return result;
}

double elements(const Tensor& tensor) {
  return static_cast<double>(element_count(tensor.shape));
}

Window window_of(const Node& node, std::int64_t kernel_height, std::int64_t kernel_width) {
  Window window;
  window.kernel = {kernel_height, kernel_width};
  require(kernel_height > 0 && kernel_width > 0 && kernel_height < kLargestExtent &&
              kernel_width < kLargestExtent,
          "the kernel is empty");
  const auto strides = list(node, "strides", 2, 1, 1);
  const auto dilations = list(node, "dilations", 2, 1, 1);
  const auto pads = list(node, "pads", 4, 0, 0);
  std::copy(strides.begin(), strides.end(), window.strides.begin());
  std::copy(dilations.begin(), dilations.end(), window.dilations.begin());
  std::copy(pads.begin(), pads.end(), window.pads.begin());
  return window;
}

Window pooling_window(const Node& node) {
  const auto kernel = node.integers("kernel_shape");
  require(kernel.size() == 2, "kernel_shape has " + std::to_string(kernel.size()) +
                                  " values, expected 2 (height, width)");
  Window window = window_of(node, kernel[0], kernel[1]);
  window.ceil_mode = node.integer("ceil_mode", 0) != 0;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    require(window.dilations[axis] == 1, "dilated pooling is not supported");
    require(window.pads[axis] < window.kernel[axis] && window.pads[axis + 2] < window.kernel[axis],
            "pads as large as the kernel leave windows with no input");
  }
  return window;
}

std::array<std::int64_t, 2> window_output(const Window& window, std::int64_t height,
                                          std::int64_t width) {
  std::array<std::int64_t, 2> result{};
  const std::array<std::int64_t, 2> extents{height, width};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t reach = window.dilations[axis] * (window.kernel[axis] - 1) + 1;
    const std::int64_t before = window.pads[axis], after = window.pads[axis + 2];
    const std::int64_t room = extents[axis] + before + after - reach;
    require(room >= 0, "a kernel reaching over " + std::to_string(reach) +
                           " does not fit into an extent of " + std::to_string(extents[axis]) +
                           " with pads " + std::to_string(before) + " and " +
                           std::to_string(after));
    const std::int64_t stride = window.strides[axis];
    std::int64_t count = room / stride + 1;
    if (window.ceil_mode && room % stride != 0 && count * stride < extents[axis] + before) ++count;
    result[axis] = count;
  }
  return result;
}

std::map<std::string, Attribute> with(const Node& node, std::string key, Attribute value) {
  std::map<std::string, Attribute> attributes = node.attributes;
  attributes[std::move(key)] = std::move(value);
  return attributes;
}

void same_as_first_input(const Graph& graph, const Node& node, std::vector<Tensor>& outputs) {
  const Tensor& x = input(graph, node, 0);
  set(outputs[0], x.dtype, x.shape);
}

void shape_from(const Node& node, const std::string& key, Tensor& result) {
  require(node.attributes.contains(key), "attribute '" + key + "' is missing");
  set(result, DType::f32, node.integers(key));
  element_count(result.shape);
}

TensorId reduced_to(GradientBuilder& builder, TensorId gradient, TensorId like) {
  Graph& graph = builder.graph();
  const Shape shape = graph.tensor(like).shape;
  if (graph.tensor(gradient).shape == shape) return gradient;
  return graph.add("ReduceSumTo", {gradient}, {{"shape", shape}});
}

TensorId scalar(Graph& graph, double value) {
  std::string name;
  std::size_t number = graph.tensor_count();
  do name = "constant_" + std::to_string(number++);
  while (graph.find(name) != kNoTensor);
  return graph.add_constant(name, make_f32({1}, {static_cast<float>(value)}));
}

}  // namespace ddl::ops
