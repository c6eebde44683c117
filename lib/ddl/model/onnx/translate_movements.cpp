// Shapes, slices, look-ups, casts.
#include "ddl/base/error.h"
#include "ddl/model/onnx/tensors.h"
#include "ddl/model/onnx/translate.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace ddl::onnx_io {
namespace {

void identity(Importer& importer, const onnx::NodeProto& node) {
  // Of a weight: another name for it (tied weights).
  const TensorId x = importer.tensor(node, 0);
  if (importer.producer(x) == nullptr && importer.graph.tensor(x).role != TensorRole::input) {
    importer.bind(node, 0, {x, nullptr});
    return;
  }
  importer.emit(node, "Identity", {x});
}

void reshape(Importer& importer, const onnx::NodeProto& node) {
  if (integer_attribute(node, "allowzero", 0) != 0) unsupported("a reshape to empty axes");
  importer.emit(node, "Reshape", {importer.tensor(node, 0)},
                {{"shape", integers_of(importer, node, "shape", 1, {})}});
}

void flatten(Importer& importer, const onnx::NodeProto& node) {
  std::map<std::string, Attribute> attributes;
  const std::int64_t axis = integer_attribute(node, "axis", 1);
  if (axis != 1) attributes["axis"] = axis;
  importer.emit(node, "Flatten", {importer.tensor(node, 0)}, attributes);
}

void transpose(Importer& importer, const onnx::NodeProto& node) {
  std::map<std::string, Attribute> attributes;
  if (has_attribute(node, "perm")) attributes["perm"] = integers_attribute(node, "perm", {});
  importer.emit(node, "Transpose", {importer.tensor(node, 0)}, attributes);
}

void concat(Importer& importer, const onnx::NodeProto& node) {
  std::vector<TensorId> operands;
  for (int i = 0; i < node.input_size(); ++i) operands.push_back(importer.tensor(node, i));
  importer.emit(node, "Concat", operands, {{"axis", integer_attribute(node, "axis", 1)}});
}

std::map<std::string, Attribute> slice_attributes(std::int64_t start, std::int64_t end,
                                                  std::size_t axis) {
  return {{"starts", Shape{start}},
          {"ends", Shape{end}},
          {"axes", Shape{static_cast<std::int64_t>(axis)}}};
}

void slice(Importer& importer, const onnx::NodeProto& node) {
  const auto starts = integers_of(importer, node, "starts", 1, {});
  const auto ends = integers_of(importer, node, "ends", 2, {});
  std::vector<std::int64_t> all(starts.size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = integers_of(importer, node, "axes", 3, all);
  const auto steps =
      integers_of(importer, node, "steps", 4, std::vector<std::int64_t>(starts.size(), 1));
  std::map<std::string, Attribute> attributes{{"starts", starts}, {"ends", ends}, {"axes", axes}};
  if (steps != std::vector<std::int64_t>(starts.size(), 1)) attributes["steps"] = steps;
  importer.emit(node, "Slice", {importer.tensor(node, 0)}, attributes);
}

// Of a table by computed indices: a look-up. Of any axis by one constant position: a slice.
void gather(Importer& importer, const onnx::NodeProto& node) {
  const Shape shape = importer.shape(node, 0);
  const std::size_t axis = axis_of(integer_attribute(node, "axis", 0), shape.size());
  const auto indices = importer.constant(node, 1);
  if (indices == nullptr) {
    if (axis != 0) unsupported("gathering along axis " + std::to_string(axis), "axis 0 is");
    importer.emit(node, "Gather", {importer.tensor(node, 0), importer.tensor(node, 1)});
    return;
  }
  const auto positions = importer.integers(node, 1);
  for (std::size_t i = 1; i < positions.size(); ++i) {
    if (positions[i] != positions[0] + static_cast<std::int64_t>(i)) {
      unsupported("gathering of scattered constant positions", "ranges are");
    }
  }
  if (positions.empty() || indices->shape.size() > 1) {
    unsupported("gathering by constants of shape " + shape_text(indices->shape));
  }
  std::int64_t start = positions[0];
  if (start < 0) start += shape[axis];
  const std::int64_t end = start + static_cast<std::int64_t>(positions.size());
  if (start < 0 || end > shape[axis]) {
    throw bad_input("position " + std::to_string(positions[0]) + " of an axis of " +
                    std::to_string(shape[axis]));
  }
  const TensorId x = importer.tensor(node, 0);
  if (!indices->shape.empty()) {
    importer.emit(node, "Slice", {x}, slice_attributes(start, end, axis));
    return;
  }
  const TensorId part = importer.emit_part(node, "Slice", {x}, slice_attributes(start, end, axis));
  Shape without = shape;
  without.erase(without.begin() + static_cast<std::ptrdiff_t>(axis));
  importer.emit(node, "Reshape", {part}, {{"shape", without}});
}

void squeeze(Importer& importer, const onnx::NodeProto& node) {
  const Shape shape = importer.shape(node, 0);
  std::set<std::size_t> dropped;
  for (const std::int64_t axis : integers_of(importer, node, "axes", 1, {})) {
    dropped.insert(axis_of(axis, shape.size()));
  }
  Shape result;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (dropped.empty() ? shape[axis] == 1 : dropped.contains(axis)) {
      if (shape[axis] != 1) throw bad_input("axis " + std::to_string(axis) + " is not 1");
    } else {
      result.push_back(shape[axis]);
    }
  }
  importer.emit(node, "Reshape", {importer.tensor(node, 0)}, {{"shape", result}});
}

void unsqueeze(Importer& importer, const onnx::NodeProto& node) {
  Shape result = importer.shape(node, 0);
  const auto axes = integers_of(importer, node, "axes", 1, {});
  if (axes.size() > 16) throw bad_input("too many axes");
  const std::size_t rank = result.size() + axes.size();
  std::set<std::size_t> added;
  for (const std::int64_t axis : axes) added.insert(axis_of(axis, rank));
  if (added.size() != axes.size()) throw bad_input("an axis is named twice");
  for (const std::size_t axis : added) {
    result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  }
  importer.emit(node, "Reshape", {importer.tensor(node, 0)}, {{"shape", result}});
}

void split(Importer& importer, const onnx::NodeProto& node) {
  const TensorId x = importer.tensor(node, 0);
  const Shape shape = importer.graph.tensor(x).shape;
  const std::size_t axis = axis_of(integer_attribute(node, "axis", 0), shape.size());
  const auto outputs = static_cast<std::int64_t>(node.output_size());
  const std::int64_t even = (shape[axis] + outputs - 1) / std::max<std::int64_t>(outputs, 1);
  std::vector<std::int64_t> sizes =
      integers_of(importer, node, "split", 1,
                  std::vector<std::int64_t>(static_cast<std::size_t>(outputs), even));
  if (static_cast<std::int64_t>(sizes.size()) != outputs) {
    throw bad_input("splits into " + std::to_string(sizes.size()) + " parts for " +
                    std::to_string(outputs) + " outputs");
  }
  std::int64_t start = 0;
  for (std::size_t part = 0; part < sizes.size(); ++part) {
    if (sizes[part] < 0 || sizes[part] > shape[axis] - start) {
      if (part + 1 < sizes.size()) throw bad_input("the parts are larger than the axis");
      sizes[part] = shape[axis] - start;
    }
    importer.emit(node, "Slice", {x}, slice_attributes(start, start + sizes[part], axis),
                  static_cast<int>(part));
    start += sizes[part];
  }
}

void cast(Importer& importer, const onnx::NodeProto& node) {
  const DType to = dtype_of(static_cast<int>(integer_attribute(node, "to", 0)), "the result");
  const TensorId x = importer.tensor(node, 0);
  if (importer.graph.tensor(x).dtype == to) {
    importer.emit(node, "Identity", {x});
  } else {
    importer.emit(node, "Cast", {x}, {{"to", std::string(dtype_name(to))}});
  }
}

// Reached only when folding did not apply.
void constants_only(Importer&, const onnx::NodeProto& node) {
  unsupported(node.op_type() + " of computed values", "of constants and shapes it is");
}

}  // namespace

void add_movements(Translations& table) {
  table["Identity"] = identity;
  table["Reshape"] = reshape;
  table["Flatten"] = flatten;
  table["Transpose"] = transpose;
  table["Concat"] = concat;
  table["Slice"] = slice;
  table["Gather"] = gather;
  table["Squeeze"] = squeeze;
  table["Unsqueeze"] = unsqueeze;
  table["Split"] = split;
  table["Cast"] = cast;
  for (const char* op : {"Constant", "ConstantOfShape", "Shape"}) table[op] = constants_only;
}

}  // namespace ddl::onnx_io
