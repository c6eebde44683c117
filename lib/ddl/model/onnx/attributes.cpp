#include "ddl/base/error.h"
#include "ddl/model/onnx/tensors.h"
#include "ddl/model/onnx/translate.h"

#include <utility>

namespace ddl::onnx_io {
namespace {

const onnx::AttributeProto* find(const onnx::NodeProto& node, const std::string& name,
                                 onnx::AttributeProto::AttributeType type) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() != name) continue;
    // Old files leave the type out.
    if (attribute.type() != type && attribute.type() != onnx::AttributeProto::UNDEFINED) {
      throw bad_input("attribute '" + name + "' has an unexpected type");
    }
    return &attribute;
  }
  return nullptr;
}

}  // namespace

bool has_attribute(const onnx::NodeProto& node, const std::string& name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return true;
  }
  return false;
}

std::int64_t integer_attribute(const onnx::NodeProto& node, const std::string& name,
                               std::int64_t fallback) {
  const auto* found = find(node, name, onnx::AttributeProto::INT);
  return found != nullptr ? found->i() : fallback;
}

double real_attribute(const onnx::NodeProto& node, const std::string& name, double fallback) {
  const auto* found = find(node, name, onnx::AttributeProto::FLOAT);
  return found != nullptr ? widened(found->f()) : fallback;
}

std::string text_attribute(const onnx::NodeProto& node, const std::string& name,
                           const std::string& fallback) {
  const auto* found = find(node, name, onnx::AttributeProto::STRING);
  return found != nullptr ? found->s() : fallback;
}

std::vector<std::int64_t> integers_attribute(const onnx::NodeProto& node, const std::string& name,
                                             std::vector<std::int64_t> fallback) {
  const auto* found = find(node, name, onnx::AttributeProto::INTS);
  if (found == nullptr) return fallback;
  return {found->ints().begin(), found->ints().end()};
}

void unsupported(const std::string& what, const std::string& remedy) {
  throw bad_input(what + " is not supported", remedy);
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const auto axes = static_cast<std::int64_t>(rank);
  if (axis < -axes || axis >= axes) {
    throw bad_input("axis " + std::to_string(axis) + " of " + std::to_string(rank) + " axes");
  }
  return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
}

std::vector<std::int64_t> integers_of(Importer& importer, const onnx::NodeProto& node,
                                      const std::string& attribute, int input,
                                      std::vector<std::int64_t> fallback) {
  if (has_attribute(node, attribute)) return integers_attribute(node, attribute, {});
  if (importer.given(node, input)) return importer.integers(node, input);
  return fallback;
}

const Translations& translations() {
  static const Translations table = [] {
    Translations entries;
    add_arithmetic(entries);
    add_layers(entries);
    add_movements(entries);
    return entries;
  }();
  return table;
}

}  // namespace ddl::onnx_io
