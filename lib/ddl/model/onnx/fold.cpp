// Folding of constants: what exporters compute of shapes, and the scalars of formulas.
//
// A weight is not constant: ops on weights stay ops. Values are held as doubles or 64-bit integers.
#include "ddl/base/error.h"
#include "ddl/model/onnx/folded.h"
#include "ddl/model/onnx/tensors.h"
#include "ddl/model/onnx/translate.h"

#include <cmath>
#include <functional>
#include <optional>
#include <utility>

namespace ddl::onnx_io {
namespace {

// Integers wrap, as they do in every runtime, and never overflow in ours.
std::int64_t wrapped(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}

Folded constant_value(const onnx::NodeProto& node) {
  for (const auto& attribute : node.attribute()) {
    Folded folded;
    if (attribute.name() == "value") {
      if (attribute.t().data_location() == onnx::TensorProto::EXTERNAL) {
        unsupported("a Constant with external data", "initialisers may have it");
      }
      const auto value = read_tensor(attribute.t(), {});
      if (auto result = unpacked(*value)) return *result;
      unsupported("a constant of " + std::string(dtype_name(value->dtype)));
    }
    if (attribute.name() == "value_float") {
      folded.reals = {attribute.f()};
      return folded;
    }
    if (attribute.name() == "value_floats") {
      folded.reals.assign(attribute.floats().begin(), attribute.floats().end());
      folded.shape = {attribute.floats_size()};
      return folded;
    }
    folded.dtype = DType::i64;
    if (attribute.name() == "value_int") {
      folded.integers = {attribute.i()};
      return folded;
    }
    if (attribute.name() == "value_ints") {
      folded.integers.assign(attribute.ints().begin(), attribute.ints().end());
      folded.shape = {attribute.ints_size()};
      return folded;
    }
  }
  unsupported("a Constant of this kind", "tensors and numbers are");
}

Folded shape_of(const onnx::NodeProto& node, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto clamped = [rank](std::int64_t axis) {
    if (axis < 0) axis = axis < -rank ? 0 : axis + rank;
    return std::min(axis, rank);
  };
  const std::int64_t start = clamped(integer_attribute(node, "start", 0));
  const std::int64_t end = std::max(start, clamped(integer_attribute(node, "end", rank)));
  Folded folded;
  folded.dtype = DType::i64;
  folded.integers.assign(shape.begin() + start, shape.begin() + end);
  folded.shape = {end - start};
  return folded;
}

// Offset into `shape` of element `at` of the broadcast `target`.
std::size_t broadcast_at(const Shape& shape, const Shape& target, std::size_t at) {
  std::size_t offset = 0, stride = 1;
  for (std::size_t back = 1; back <= target.size(); ++back) {
    const auto extent = static_cast<std::size_t>(target[target.size() - back]);
    const std::size_t position = at % extent;
    at /= extent;
    if (back > shape.size()) continue;
    const auto own = static_cast<std::size_t>(shape[shape.size() - back]);
    if (own != 1) offset += position * stride;
    stride *= own;
  }
  return offset;
}

std::int64_t integer_binary(const std::string& op, std::int64_t a, std::int64_t b) {
  const auto ua = static_cast<std::uint64_t>(a), ub = static_cast<std::uint64_t>(b);
  if (op == "Add") return wrapped(ua + ub);
  if (op == "Sub") return wrapped(ua - ub);
  if (op == "Mul") return wrapped(ua * ub);
  if (b == 0) throw bad_input("division by zero");
  return b == -1 ? wrapped(std::uint64_t{0} - ua) : a / b;
}

double real_binary(const std::string& op, double a, double b) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  return op == "Mul" ? a * b : a / b;
}

Folded binary(const std::string& op, const Folded& a, const Folded& b) {
  if (a.dtype != b.dtype) throw bad_input("operands of different types");
  Folded result;
  result.dtype = a.dtype;
  result.shape.resize(std::max(a.shape.size(), b.shape.size()));
  for (std::size_t back = 1; back <= result.shape.size(); ++back) {
    const std::int64_t from_a = back <= a.shape.size() ? a.shape[a.shape.size() - back] : 1;
    const std::int64_t from_b = back <= b.shape.size() ? b.shape[b.shape.size() - back] : 1;
    if (from_a != from_b && from_a != 1 && from_b != 1) throw bad_input("shapes do not broadcast");
    result.shape[result.shape.size() - back] = from_a == 1 ? from_b : from_a;
  }
  result.resize(static_cast<std::size_t>(checked_count(result.shape)));
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t at_a = broadcast_at(a.shape, result.shape, i);
    const std::size_t at_b = broadcast_at(b.shape, result.shape, i);
    if (is_integer(a.dtype)) {
      result.integers[i] = integer_binary(op, a.integers[at_a], b.integers[at_b]);
    } else {
      // Rounded to float32 at every step, as a runtime would.
      result.reals[i] = static_cast<float>(real_binary(op, a.reals[at_a], b.reals[at_b]));
    }
  }
  return result;
}

Folded cast(const onnx::NodeProto& node, const Folded& x) {
  Folded result;
  result.dtype = dtype_of(static_cast<int>(integer_attribute(node, "to", 0)), "the result");
  if (result.dtype != DType::f32 && result.dtype != DType::i64 && result.dtype != DType::i32 &&
      result.dtype != DType::boolean) {
    unsupported("a constant of " + std::string(dtype_name(result.dtype)));
  }
  result.shape = x.shape;
  result.resize(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double real = is_integer(x.dtype) ? static_cast<double>(x.integers[i]) : x.reals[i];
    if (!is_integer(result.dtype)) {
      result.reals[i] = static_cast<float>(real);
    } else if (is_integer(x.dtype)) {
      result.integers[i] = x.integers[i];
    } else {
      if (!(std::abs(real) < 9e18)) throw bad_input("a constant is too large for an integer");
      result.integers[i] = static_cast<std::int64_t>(real);
    }
    if (result.dtype == DType::boolean) result.integers[i] = real != 0 ? 1 : 0;
    if (result.dtype == DType::i32) {
      result.integers[i] = static_cast<std::int32_t>(result.integers[i]);
    }
  }
  return result;
}

Folded gather(const onnx::NodeProto& node, const Folded& x, const Folded& indices) {
  if (x.shape.empty() || !is_integer(indices.dtype)) throw bad_input("cannot be looked up in");
  const std::size_t axis = axis_of(integer_attribute(node, "axis", 0), x.shape.size());
  if (axis != 0) unsupported("gathering from constants along axis " + std::to_string(axis));
  Folded result;
  result.dtype = x.dtype;
  result.shape = indices.shape;
  result.shape.insert(result.shape.end(), x.shape.begin() + 1, x.shape.end());
  result.resize(static_cast<std::size_t>(checked_count(result.shape)));
  const std::size_t row = x.shape[0] == 0 ? 0 : x.size() / static_cast<std::size_t>(x.shape[0]);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    std::int64_t index = indices.integers[i];
    if (index < 0) index += x.shape[0];
    if (index < 0 || index >= x.shape[0]) throw bad_input("a position is out of range");
    for (std::size_t k = 0; k < row; ++k) {
      result.copy(i * row + k, x, static_cast<std::size_t>(index) * row + k);
    }
  }
  return result;
}

Folded concat(const onnx::NodeProto& node, const std::vector<Folded>& parts) {
  Folded result = parts.front();
  if (result.shape.empty()) throw bad_input("scalars cannot be joined");
  const std::size_t axis = axis_of(integer_attribute(node, "axis", 0), result.shape.size());
  if (axis != 0) unsupported("joining constants along axis " + std::to_string(axis));
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Folded& part = parts[i];
    if (part.dtype != result.dtype || part.shape.size() != result.shape.size()) {
      throw bad_input("operands of different types or ranks");
    }
    result.shape[0] += part.shape[0];
    result.reals.insert(result.reals.end(), part.reals.begin(), part.reals.end());
    result.integers.insert(result.integers.end(), part.integers.begin(), part.integers.end());
    checked_count(result.shape);
  }
  if (static_cast<std::size_t>(element_count(result.shape)) != result.size()) {
    throw bad_input("operands differ beside the axis");
  }
  return result;
}

Folded slice(Importer& importer, const onnx::NodeProto& node, const Folded& x) {
  const auto starts = integers_of(importer, node, "starts", 1, {});
  const auto ends = integers_of(importer, node, "ends", 2, {});
  const auto axes = integers_of(importer, node, "axes", 3, {0});
  const auto steps = integers_of(importer, node, "steps", 4, {1});
  if (x.shape.size() != 1 || starts.size() != 1 || ends.size() != 1 || axes.size() != 1 ||
      steps.size() != 1 || axis_of(axes[0], 1) != 0 || steps[0] < 1) {
    unsupported("slicing constants of this form");
  }
  const auto clamped = [&](std::int64_t position) {
    if (position < 0) position = position < -x.shape[0] ? 0 : position + x.shape[0];
    return std::min(position, x.shape[0]);
  };
  Folded result;
  result.dtype = x.dtype;
  const std::int64_t start = clamped(starts[0]), end = clamped(ends[0]);
  const std::int64_t count = start >= end ? 0 : (end - start - 1) / steps[0] + 1;
  result.shape = {count};
  result.resize(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    result.copy(static_cast<std::size_t>(i), x, static_cast<std::size_t>(start + i * steps[0]));
  }
  return result;
}

Folded reshaped(Importer& importer, const onnx::NodeProto& node, Folded x) {
  Graph scratch;  // the shape rule itself
  const TensorId id = scratch.add_input("x", x.dtype, x.shape);
  std::map<std::string, Attribute> attributes;
  if (node.op_type() == "Reshape") {
    attributes["shape"] = integers_of(importer, node, "shape", 1, {});
    x.shape = scratch.tensor(scratch.add("Reshape", {id}, attributes)).shape;
    return x;
  }
  const auto axes = integers_of(importer, node, "axes", 1, {});
  if (axes.size() > 16) throw bad_input("too many axes");
  std::vector<bool> chosen(x.shape.size() + (node.op_type() == "Unsqueeze" ? axes.size() : 0));
  for (const std::int64_t axis : axes) chosen[axis_of(axis, chosen.size())] = true;
  Shape shape;
  std::size_t from = 0;
  for (std::size_t axis = 0; axis < chosen.size(); ++axis) {
    if (node.op_type() == "Unsqueeze") {
      if (!chosen[axis] && from >= x.shape.size()) throw bad_input("an axis is named twice");
      shape.push_back(chosen[axis] ? 1 : x.shape[from++]);
    } else if (!(axes.empty() ? x.shape[axis] == 1 : chosen[axis])) {
      shape.push_back(x.shape[axis]);
    }
  }
  x.shape = shape;
  if (static_cast<std::size_t>(element_count(shape)) != x.size()) {
    throw bad_input("an axis to drop is not 1");
  }
  return x;
}

Folded constant_of_shape(const onnx::NodeProto& node, const Folded& shape) {
  Folded result;
  Folded filling;
  filling.reals = {0};
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() != "value") continue;
    const auto value = read_tensor(attribute.t(), {});
    const auto found = unpacked(*value);
    if (!found || found->size() != 1) unsupported("a filling of this kind");
    filling = *found;
  }
  if (!is_integer(shape.dtype)) throw bad_input("the shape is not of integers");
  result.dtype = filling.dtype;
  result.shape = shape.integers;
  if (result.shape.size() > 16) throw bad_input("too many axes");
  result.resize(static_cast<std::size_t>(checked_count(result.shape)));
  for (std::size_t i = 0; i < result.size(); ++i) result.copy(i, filling, 0);
  return result;
}

Folded unary(const std::string& op, Folded x) {
  for (double& value : x.reals) {
    const double result = op == "Sqrt" ? std::sqrt(value) : op == "Neg" ? -value : 1 / value;
    value = static_cast<float>(result);
  }
  for (std::int64_t& value : x.integers) {
    if (op != "Neg") throw bad_input("a root or reciprocal of integers");
    value = wrapped(std::uint64_t{0} - static_cast<std::uint64_t>(value));
  }
  return x;
}

std::optional<Folded> folded(Importer& importer, const onnx::NodeProto& node,
                             const std::vector<Folded>& operands) {
  const std::string& op = node.op_type();
  const std::size_t count = operands.size();
  if (count == 2 && (op == "Add" || op == "Sub" || op == "Mul" || op == "Div")) {
    return binary(op, operands[0], operands[1]);
  }
  if (count == 1 && (op == "Sqrt" || op == "Neg" || op == "Reciprocal")) {
    return unary(op, operands[0]);
  }
  if (count == 1 && op == "Identity") return operands[0];
  if (count == 1 && op == "Cast") return cast(node, operands[0]);
  if (count == 1 && op == "ConstantOfShape") return constant_of_shape(node, operands[0]);
  if (count == 2 && op == "Gather") return gather(node, operands[0], operands[1]);
  if (count >= 1 && op == "Concat") return concat(node, operands);
  if (count >= 1 && op == "Slice") return slice(importer, node, operands[0]);
  if (count >= 1 && (op == "Reshape" || op == "Squeeze" || op == "Unsqueeze")) {
    return reshaped(importer, node, operands[0]);
  }
  return std::nullopt;
}

}  // namespace

bool fold(Importer& importer, const onnx::NodeProto& node) {
  if (node.op_type() == "Constant") {
    importer.bind(node, 0, {kNoTensor, packed(constant_value(node))});
    return true;
  }
  if (node.op_type() == "Shape") {
    importer.bind(node, 0, {kNoTensor, packed(shape_of(node, importer.shape(node, 0)))});
    return true;
  }
  std::vector<Folded> operands;
  for (int i = 0; i < node.input_size(); ++i) {
    const auto value = importer.constant(node, i);
    if (value == nullptr || element_count(value->shape) > kLargestFold) return false;
    auto operand = unpacked(*value);
    if (!operand) return false;
    operands.push_back(std::move(*operand));
  }
  if (operands.empty()) return false;
  const auto result = folded(importer, node, operands);
  if (!result) return false;
  importer.bind(node, 0, {kNoTensor, packed(*result)});
  return true;
}

}  // namespace ddl::onnx_io
