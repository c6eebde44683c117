// Convolution, pools, normalisation, dropout.
#include "ddl/base/error.h"
#include "ddl/model/onnx/tensors.h"
#include "ddl/model/onnx/translate.h"

#include <algorithm>

namespace ddl::onnx_io {
namespace {

// Strides, pads and dilations of a window, with auto_pad resolved: SAME keeps ceil(extent/stride).
std::map<std::string, Attribute> window(Importer& importer, const onnx::NodeProto& node,
                                        const Shape& kernel) {
  const Shape& x = importer.shape(node, 0);
  if (x.size() != 4 || kernel.size() != 2) {
    unsupported("a window over " + std::to_string(x.size() < 2 ? 0 : x.size() - 2) + " axes",
                "two axes (images) are");
  }
  const Shape strides = integers_attribute(node, "strides", {1, 1});
  const Shape dilations = integers_attribute(node, "dilations", {1, 1});
  Shape pads = integers_attribute(node, "pads", {0, 0, 0, 0});
  if (strides.size() != 2 || dilations.size() != 2 || pads.size() != 4) {
    throw bad_input("strides, dilations or pads do not have two axes");
  }
  const std::string automatic = text_attribute(node, "auto_pad", "NOTSET");
  if (automatic == "VALID") {
    pads = {0, 0, 0, 0};
  } else if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (std::size_t axis = 0; axis < 2; ++axis) {
      constexpr std::int64_t kMost = 1 << 24;
      if (strides[axis] < 1 || kernel[axis] < 1 || dilations[axis] < 1 || strides[axis] > kMost ||
          kernel[axis] > kMost || dilations[axis] > kMost) {
        throw bad_input("strides, dilations and kernel must be positive");
      }
      const std::int64_t extent = x[axis + 2];
      const std::int64_t count = (extent + strides[axis] - 1) / strides[axis];
      const std::int64_t reach = dilations[axis] * (kernel[axis] - 1) + 1;
      const std::int64_t total =
          std::max<std::int64_t>(0, (count - 1) * strides[axis] + reach - extent);
      const std::int64_t less = total / 2, more = total - less;
      pads[axis] = automatic == "SAME_UPPER" ? less : more;
      pads[axis + 2] = automatic == "SAME_UPPER" ? more : less;
    }
  } else if (automatic != "NOTSET") {
    unsupported("auto_pad " + automatic);
  }
  return {{"strides", strides}, {"pads", pads}, {"dilations", dilations}};
}

void conv(Importer& importer, const onnx::NodeProto& node) {
  std::vector<TensorId> operands{importer.tensor(node, 0), importer.tensor(node, 1)};
  if (importer.given(node, 2)) operands.push_back(importer.tensor(node, 2));
  const Shape& w = importer.graph.tensor(operands[1]).shape;
  if (w.size() != 4) {
    unsupported("a convolution with a weight of " + std::to_string(w.size()) + " axes",
                "two-dimensional convolutions are");
  }
  const Shape kernel{w[2], w[3]};
  if (integers_attribute(node, "kernel_shape", kernel) != kernel) {
    throw bad_input("kernel_shape differs from the weight's");
  }
  auto attributes = window(importer, node, kernel);
  const std::int64_t group = integer_attribute(node, "group", 1);
  if (std::get<Shape>(attributes["dilations"]) == Shape{1, 1}) attributes.erase("dilations");
  if (group != 1) attributes["group"] = group;
  importer.emit(node, "Conv", operands, attributes);
}

void pool(Importer& importer, const onnx::NodeProto& node) {
  if (node.output_size() > 1 && !node.output(1).empty()) unsupported("the indices of a pool");
  const Shape kernel = integers_attribute(node, "kernel_shape", {});
  auto attributes = window(importer, node, kernel);
  if (std::get<Shape>(attributes["dilations"]) != Shape{1, 1}) unsupported("dilated pooling");
  attributes.erase("dilations");
  attributes["kernel_shape"] = kernel;
  if (integer_attribute(node, "ceil_mode", 0) != 0) attributes["ceil_mode"] = std::int64_t{1};
  if (node.op_type() == "AveragePool" && integer_attribute(node, "count_include_pad", 0) != 0) {
    attributes["count_include_pad"] = std::int64_t{1};
  }
  importer.emit(node, node.op_type(), {importer.tensor(node, 0)}, attributes);
}

void global_pool(Importer& importer, const onnx::NodeProto& node) {
  const TensorId x = importer.tensor(node, 0);
  const Shape shape = importer.shape(node, 0);
  if (shape.size() != 4) unsupported("global pooling of anything but images");
  if (node.op_type() == "GlobalAveragePool") {
    importer.emit(node, "GlobalAveragePool", {x});
  } else {
    importer.emit(node, "MaxPool", {x}, {{"kernel_shape", Shape{shape[2], shape[3]}}});
  }
}

void batch_normalization(Importer& importer, const onnx::NodeProto& node) {
  if (integer_attribute(node, "training_mode", 0) != 0) {
    unsupported("batch normalisation in training mode", "export the model in evaluation mode");
  }
  if (integer_attribute(node, "spatial", 1) != 1) unsupported("batch normalisation per pixel");
  for (int i = 1; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) {
      unsupported("batch normalisation with further outputs",
                  "export the model in evaluation mode");
    }
  }
  std::vector<TensorId> operands;
  for (int i = 0; i < 5; ++i) operands.push_back(importer.tensor(node, i));
  std::map<std::string, Attribute> attributes{{"epsilon", real_attribute(node, "epsilon", 1e-5)}};
  const double momentum = real_attribute(node, "momentum", 0.9);
  if (momentum != 0.9) attributes["momentum"] = momentum;
  importer.emit(node, "BatchNormalization", operands, attributes);
}

void layer_normalization(Importer& importer, const onnx::NodeProto& node) {
  for (int i = 1; i < node.output_size(); ++i) {
    if (!node.output(i).empty()) unsupported("layer normalisation with further outputs");
  }
  std::vector<TensorId> operands{importer.tensor(node, 0), importer.tensor(node, 1)};
  if (importer.given(node, 2)) operands.push_back(importer.tensor(node, 2));
  importer.emit(node, "LayerNormalization", operands,
                {{"axis", integer_attribute(node, "axis", -1)},
                 {"epsilon", real_attribute(node, "epsilon", 1e-5)}});
}

void dropout(Importer& importer, const onnx::NodeProto& node) {
  if (node.output_size() > 1 && !node.output(1).empty()) unsupported("the mask of a dropout");
  double ratio = real_attribute(node, "ratio", 0.5);
  if (importer.given(node, 1)) {
    const float* given = importer.scalar_constant(importer.tensor(node, 1));
    if (given == nullptr) unsupported("a dropout ratio that is computed");
    ratio = widened(*given);
  }
  if (ratio <= 0) {
    importer.emit(node, "Identity", {importer.tensor(node, 0)});
    return;
  }
  importer.emit(node, "Dropout", {importer.tensor(node, 0)}, {{"ratio", ratio}});
}

}  // namespace

void add_layers(Translations& table) {
  table["Conv"] = conv;
  table["MaxPool"] = pool;
  table["AveragePool"] = pool;
  table["GlobalAveragePool"] = global_pool;
  table["GlobalMaxPool"] = global_pool;
  table["BatchNormalization"] = batch_normalization;
  table["LayerNormalization"] = layer_normalization;
  table["Dropout"] = dropout;
}

}  // namespace ddl::onnx_io
