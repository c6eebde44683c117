#include "ddl/base/error.h"
#include "ddl/model/onnx/exporter.h"
#include "ddl/model/onnx/tensors.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace ddl::onnx_io {

void set_attribute(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(value);
}

void set_attribute(onnx::NodeProto& node, const std::string& name, double value) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::FLOAT);
  attribute->set_f(static_cast<float>(value));
}

void set_attribute(onnx::NodeProto& node, const std::string& name,
                   const std::vector<std::int64_t>& values) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute->add_ints(value);
}

void Exporter::write_window(onnx::NodeProto& proto, const Node& source, const Shape& kernel) {
  const Shape strides = source.integers("strides", {1, 1});
  Shape pads = source.integers("pads", {0, 0, 0, 0});
  bool ceil = source.integer("ceil_mode", 0) != 0;
  const bool counted = source.integer("count_include_pad", 0) != 0;
  if (ceil && !counted) {
    // Runtimes disagree on a last window that would start in the trailing padding: pads that give
    // the same windows without rounding up leave no doubt.
    const Shape& x = graph_.tensor(source.inputs[0]).shape;
    const Shape& y = graph_.tensor(source.outputs[0]).shape;
    for (std::size_t axis = 0; axis < 2; ++axis) {
      pads[axis + 2] = std::max<std::int64_t>(
          0, (y[axis + 2] - 1) * strides[axis] + kernel[axis] - x[axis + 2] - pads[axis]);
    }
    ceil = false;
  }
  set_attribute(proto, "kernel_shape", kernel);
  set_attribute(proto, "strides", strides);
  set_attribute(proto, "pads", pads);
  if (source.op == "Conv") {
    set_attribute(proto, "dilations", source.integers("dilations", {1, 1}));
    set_attribute(proto, "group", source.integer("group", 1));
    return;
  }
  set_attribute(proto, "ceil_mode", std::int64_t{ceil});
  if (source.op == "AveragePool") {
    set_attribute(proto, "count_include_pad", std::int64_t{counted});
  }
}

void Exporter::write_matmul(const Node& source) {
  std::vector<std::string> inputs = input_names(source);
  const char* const flags[] = {"trans_a", "trans_b"};
  for (std::size_t i = 0; i < 2; ++i) {
    if (source.integer(flags[i], 0) == 0) continue;
    Shape perm(graph_.tensor(source.inputs[i]).shape.size());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    const std::string turned = free_name(source.name + "/" + flags[i]);
    set_attribute(node("Transpose", turned, {inputs[i]}, turned), "perm", perm);
    inputs[i] = turned;
  }
  node("MatMul", source.name, inputs, name(source.outputs[0]));
}

// none: 0.5 x (1 + erf(x / sqrt 2)); tanh: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
void Exporter::write_gelu(const Node& source) {
  const std::string x = input_names(source)[0];
  const std::string base = source.name;
  const auto piece = [&](const std::string& op, const std::string& suffix,
                         const std::vector<std::string>& inputs) {
    const std::string output = free_name(base + "/" + suffix);
    node(op, output, inputs, output);
    return output;
  };
  std::string bent;
  if (source.text("approximate", "none") == "none") {
    const std::string scaled =
        piece("Div", "scaled", {x, scalar(base + "/sqrt2", std::numbers::sqrt2)});
    bent = piece("Erf", "erf", {scaled});
  } else {
    const std::string cube = piece("Mul", "cube", {piece("Mul", "square", {x, x}), x});
    const std::string small =
        piece("Mul", "small", {cube, scalar(base + "/coefficient", 0.044715)});
    const std::string sum = piece("Add", "sum", {x, small});
    const double factor = std::sqrt(2 / std::numbers::pi);
    bent = piece("Tanh", "tanh", {piece("Mul", "inner", {sum, scalar(base + "/factor", factor)})});
  }
  const std::string shifted = piece("Add", "shifted", {bent, scalar(base + "/one", 1)});
  const std::string gated = piece("Mul", "gated", {x, shifted});
  node("Mul", base, {gated, scalar(base + "/half", 0.5)}, name(source.outputs[0]));
}

void Exporter::write_slice(const Node& source) {
  std::vector<std::string> inputs = input_names(source);
  const auto starts = source.integers("starts");
  std::vector<std::int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  inputs.push_back(integers(source.name + "/starts", starts));
  inputs.push_back(integers(source.name + "/ends", source.integers("ends")));
  inputs.push_back(integers(source.name + "/axes", source.integers("axes", all)));
  inputs.push_back(integers(source.name + "/steps",
                            source.integers("steps", std::vector<std::int64_t>(starts.size(), 1))));
  node("Slice", source.name, inputs, name(source.outputs[0]));
}

void Exporter::write_node(const Node& source) {
  if (source.op == "MatMul") return write_matmul(source);
  if (source.op == "Gelu") return write_gelu(source);
  if (source.op == "Slice") return write_slice(source);
  std::vector<std::string> inputs = input_names(source);
  if (source.op == "Reshape") {
    inputs.push_back(integers(source.name + "/shape", source.integers("shape")));
  } else if (source.op == "Dropout") {
    inputs.push_back(scalar(source.name + "/ratio", source.real("ratio", 0.5)));
  }
  onnx::NodeProto& proto = node(source.op, source.name, inputs, name(source.outputs[0]));
  if (source.op == "Conv") {
    const Shape& w = graph_.tensor(source.inputs[1]).shape;
    write_window(proto, source, {w[2], w[3]});
  } else if (source.op == "MaxPool" || source.op == "AveragePool") {
    write_window(proto, source, source.integers("kernel_shape"));
  } else if (source.op == "BatchNormalization") {
    set_attribute(proto, "epsilon", source.real("epsilon", 1e-5));
    set_attribute(proto, "momentum", source.real("momentum", 0.9));
  } else if (source.op == "LayerNormalization") {
    set_attribute(proto, "axis", source.integer("axis", -1));
    set_attribute(proto, "epsilon", source.real("epsilon", 1e-5));
  } else if (source.op == "Gemm") {
    set_attribute(proto, "alpha", source.real("alpha", 1));
    set_attribute(proto, "beta", source.real("beta", 1));
    set_attribute(proto, "transA", source.integer("transA", 0));
    set_attribute(proto, "transB", source.integer("transB", 0));
  } else if (source.op == "Softmax") {
    set_attribute(proto, "axis", source.integer("axis", -1));
  } else if (source.op == "Flatten") {
    set_attribute(proto, "axis", source.integer("axis", 1));
  } else if (source.op == "Concat" || source.op == "Gather") {
    set_attribute(proto, "axis", source.integer("axis", 0));
  } else if (source.op == "Transpose") {
    if (source.attributes.contains("perm")) set_attribute(proto, "perm", source.integers("perm"));
  } else if (source.op == "ReduceMean") {
    if (source.attributes.contains("axes")) set_attribute(proto, "axes", source.integers("axes"));
    set_attribute(proto, "keepdims", source.integer("keepdims", 1));
  } else if (source.op == "Cast") {
    set_attribute(proto, "to",
                  std::int64_t{onnx_type_of(parse_dtype(source.text("to", "float32")))});
  } else {
    static const std::vector<std::string> kPlain{"GlobalAveragePool",
                                                 "Relu",
                                                 "Tanh",
                                                 "Sigmoid",
                                                 "Erf",
                                                 "Exp",
                                                 "Log",
                                                 "Sqrt",
                                                 "Neg",
                                                 "Add",
                                                 "Reciprocal",
                                                 "Sub",
                                                 "Mul",
                                                 "Div",
                                                 "Sum",
                                                 "Reshape",
                                                 "Identity",
                                                 "Dropout"};
    if (std::find(kPlain.begin(), kPlain.end(), source.op) == kPlain.end()) {
      throw bad_input("op " + source.op + " of node '" + source.name + "' has no form in ONNX",
                      "write the model in its inference form");
    }
  }
}

}  // namespace ddl::onnx_io
