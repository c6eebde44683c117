// Element-wise ops, products and reductions.
#include "ddl/base/error.h"
#include "ddl/model/onnx/tensors.h"
#include "ddl/model/onnx/translate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ddl::onnx_io {
namespace {

void unary(Importer& importer, const onnx::NodeProto& node) {
  importer.emit(node, node.op_type(), {importer.tensor(node, 0)});
}

void binary(Importer& importer, const onnx::NodeProto& node) {
  if (importer.opset() < 7) unsupported("broadcasting of opset 6 and older");
  const TensorId left = importer.tensor(node, 0), right = importer.tensor(node, 1);
  if (node.op_type() == "Mul" && fuse_gelu(importer, node, left, right)) return;
  importer.emit(node, node.op_type(), {left, right});
}

void sum(Importer& importer, const onnx::NodeProto& node) {
  TensorId total = importer.tensor(node, 0);
  const bool alike = [&] {
    for (int i = 1; i < node.input_size(); ++i) {
      if (importer.shape(node, i) != importer.shape(node, 0)) return false;
    }
    return true;
  }();
  if (alike) {
    std::vector<TensorId> operands;
    for (int i = 0; i < node.input_size(); ++i) operands.push_back(importer.tensor(node, i));
    importer.emit(node, "Sum", operands);
    return;
  }
  for (int i = 1; i < node.input_size(); ++i) {
    const std::vector<TensorId> pair{total, importer.tensor(node, i)};
    if (i + 1 == node.input_size()) {
      importer.emit(node, "Add", pair);
    } else {
      total = importer.emit_part(node, "Add", pair);
    }
  }
}

// Powers that are products and roots.
void power(Importer& importer, const onnx::NodeProto& node) {
  const TensorId x = importer.tensor(node, 0);
  const float* exponent = importer.scalar_constant(importer.tensor(node, 1));
  if (exponent == nullptr) unsupported("a power that is not one constant number");
  if (*exponent == 1) {
    importer.emit(node, "Identity", {x});
  } else if (*exponent == 2) {
    importer.emit(node, "Mul", {x, x});
  } else if (*exponent == 3) {
    importer.emit(node, "Mul", {importer.emit_part(node, "Mul", {x, x}), x});
  } else if (*exponent == 0.5F) {
    importer.emit(node, "Sqrt", {x});
  } else if (*exponent == -1) {
    importer.emit(node, "Reciprocal", {x});
  } else if (*exponent == -0.5F) {
    importer.emit(node, "Reciprocal", {importer.emit_part(node, "Sqrt", {x})});
  } else {
    unsupported("a power of " + std::to_string(*exponent), "1, 2, 3, 0.5, -1 and -0.5 are");
  }
}

void gelu(Importer& importer, const onnx::NodeProto& node) {
  importer.emit(node, "Gelu", {importer.tensor(node, 0)},
                {{"approximate", text_attribute(node, "approximate", "none")}});
}

std::int64_t softmax_axis(Importer& importer, const onnx::NodeProto& node) {
  const auto rank = static_cast<std::int64_t>(importer.shape(node, 0).size());
  const bool old = importer.opset() < 13;
  const std::int64_t axis = integer_attribute(node, "axis", old ? 1 : -1);
  // Before opset 13 everything from the axis on was one axis.
  if (old && axis != rank - 1 && axis != -1) {
    unsupported("softmax over several axes", "export with opset 13 or newer");
  }
  return axis;
}

void softmax(Importer& importer, const onnx::NodeProto& node) {
  importer.emit(node, "Softmax", {importer.tensor(node, 0)},
                {{"axis", softmax_axis(importer, node)}});
}

void log_softmax(Importer& importer, const onnx::NodeProto& node) {
  const TensorId inner = importer.emit_part(node, "Softmax", {importer.tensor(node, 0)},
                                            {{"axis", softmax_axis(importer, node)}});
  importer.emit(node, "Log", {inner});
}

void gemm(Importer& importer, const onnx::NodeProto& node) {
  std::vector<TensorId> operands{importer.tensor(node, 0), importer.tensor(node, 1)};
  if (importer.given(node, 2)) operands.push_back(importer.tensor(node, 2));
  std::map<std::string, Attribute> attributes;
  for (const char* flag : {"transA", "transB"}) {
    if (integer_attribute(node, flag, 0) != 0) attributes[flag] = std::int64_t{1};
  }
  for (const char* factor : {"alpha", "beta"}) {
    const double value = real_attribute(node, factor, 1);
    if (value != 1) attributes[factor] = value;
  }
  importer.emit(node, "Gemm", operands, attributes);
}

// A transposition of the last two axes right before a product becomes its flag.
void matmul(Importer& importer, const onnx::NodeProto& node) {
  std::vector<TensorId> operands{importer.tensor(node, 0), importer.tensor(node, 1)};
  std::map<std::string, Attribute> attributes;
  const char* const flags[] = {"trans_a", "trans_b"};
  for (std::size_t i = 0; i < 2; ++i) {
    const Node* source = importer.producer(operands[i]);
    if (source == nullptr || source->op != "Transpose") continue;
    const std::size_t rank = importer.graph.tensor(source->inputs[0]).shape.size();
    if (rank < 2) continue;
    Shape turned(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) turned[axis] = static_cast<std::int64_t>(axis);
    std::swap(turned[rank - 1], turned[rank - 2]);
    const bool reversed = rank == 2 && !source->attributes.contains("perm");
    if (!reversed && source->integers("perm") != turned) continue;
    attributes[flags[i]] = std::int64_t{1};
    operands[i] = source->inputs[0];
  }
  importer.emit(node, "MatMul", operands, attributes);
}

void reduce_mean(Importer& importer, const onnx::NodeProto& node) {
  const auto axes = integers_of(importer, node, "axes", 1, {});
  if (axes.empty() && integer_attribute(node, "noop_with_empty_axes", 0) != 0) {
    importer.emit(node, "Identity", {importer.tensor(node, 0)});
    return;
  }
  std::map<std::string, Attribute> attributes{{"keepdims", integer_attribute(node, "keepdims", 1)}};
  if (!axes.empty()) attributes["axes"] = axes;
  importer.emit(node, "ReduceMean", {importer.tensor(node, 0)}, attributes);
}

bool near(const Importer& importer, TensorId tensor, double expected) {
  const float* value = importer.scalar_constant(tensor);
  return value != nullptr && std::abs(*value - expected) <= 1e-6 * std::abs(expected);
}

// The operand beside a constant near `expected`, kNoTensor when the node is none such.
TensorId beside(const Importer& importer, TensorId tensor, const std::string& op, double expected) {
  const Node* node = importer.producer(tensor);
  if (node == nullptr || node->op != op) return kNoTensor;
  if (near(importer, node->inputs[1], expected)) return node->inputs[0];
  if (op != "Div" && near(importer, node->inputs[0], expected)) return node->inputs[1];
  return kNoTensor;
}

TensorId operand_of(const Importer& importer, TensorId tensor, const std::string& op) {
  const Node* node = importer.producer(tensor);
  return node != nullptr && node->op == op ? node->inputs[0] : kNoTensor;
}

// x for `gate` = 1 + erf(x / sqrt 2).
TensorId exact_gate(const Importer& importer, TensorId gate) {
  const TensorId scaled = operand_of(importer, beside(importer, gate, "Add", 1), "Erf");
  const TensorId divided = beside(importer, scaled, "Div", std::numbers::sqrt2);
  return divided != kNoTensor ? divided : beside(importer, scaled, "Mul", 1 / std::numbers::sqrt2);
}

// x for `gate` = 1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)).
TensorId tanh_gate(const Importer& importer, TensorId gate) {
  const TensorId inner = operand_of(importer, beside(importer, gate, "Add", 1), "Tanh");
  const Node* sum =
      importer.producer(beside(importer, inner, "Mul", std::sqrt(2 / std::numbers::pi)));
  if (sum == nullptr || sum->op != "Add") return kNoTensor;
  for (std::size_t i = 0; i < 2; ++i) {
    const TensorId x = sum->inputs[1 - i];
    const Node* cube = importer.producer(beside(importer, sum->inputs[i], "Mul", 0.044715));
    if (cube == nullptr || cube->op != "Mul") continue;
    for (std::size_t k = 0; k < 2; ++k) {
      const Node* square = importer.producer(cube->inputs[k]);
      if (cube->inputs[1 - k] == x && square != nullptr && square->op == "Mul" &&
          square->inputs[0] == x && square->inputs[1] == x) {
        return x;
      }
    }
  }
  return kNoTensor;
}

}  // namespace

bool fuse_gelu(Importer& importer, const onnx::NodeProto& node, TensorId left, TensorId right) {
  // The three factors 0.5, x and the gate, in any order and nesting.
  std::vector<TensorId> factors;
  for (const TensorId side : {left, right}) {
    const Node* product = importer.producer(side);
    const bool inner = product != nullptr && product->op == "Mul" && factors.size() < 2;
    if (inner && (exact_gate(importer, side) == kNoTensor)) {
      factors.insert(factors.end(), product->inputs.begin(), product->inputs.end());
    } else {
      factors.push_back(side);
    }
  }
  if (factors.size() != 3) return false;
  std::sort(factors.begin(), factors.end());
  do {
    if (!near(importer, factors[0], 0.5)) continue;
    for (const bool exact : {true, false}) {
      const TensorId x = exact ? exact_gate(importer, factors[1]) : tanh_gate(importer, factors[1]);
      if (x == kNoTensor || x != factors[2]) continue;
      importer.emit(node, "Gelu", {x}, {{"approximate", std::string(exact ? "none" : "tanh")}});
      return true;
    }
  } while (std::next_permutation(factors.begin(), factors.end()));
  return false;
}

void add_arithmetic(Translations& table) {
  for (const char* op :
       {"Relu", "Tanh", "Sigmoid", "Erf", "Exp", "Log", "Sqrt", "Neg", "Reciprocal"}) {
    table[op] = unary;
  }
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) table[op] = binary;
  table["Sum"] = sum;
  table["Pow"] = power;
  table["Gelu"] = gelu;
  table["Softmax"] = softmax;
  table["LogSoftmax"] = log_softmax;
  table["Gemm"] = gemm;
  table["MatMul"] = matmul;
  table["ReduceMean"] = reduce_mean;
}

}  // namespace ddl::onnx_io
