// Translations of ONNX ops, and the folding of constants.
#pragma once

#include "ddl/model/onnx/importer.h"
#include "ddl/model/onnx/proto.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ddl::onnx_io {

using Translation = void (*)(Importer&, const onnx::NodeProto&);
using Translations = std::map<std::string, Translation, std::less<>>;

void add_arithmetic(Translations& table);
void add_layers(Translations& table);
void add_movements(Translations& table);
const Translations& translations();

// Computes an op whose operands are all constant. Returns false when the op cannot be folded.
bool fold(Importer& importer, const onnx::NodeProto& node);

// Attributes, with a default where absent; bad_input for another type.
bool has_attribute(const onnx::NodeProto& node, const std::string& name);
std::int64_t integer_attribute(const onnx::NodeProto& node, const std::string& name,
                               std::int64_t fallback);
double real_attribute(const onnx::NodeProto& node, const std::string& name, double fallback);
std::string text_attribute(const onnx::NodeProto& node, const std::string& name,
                           const std::string& fallback);
std::vector<std::int64_t> integers_attribute(const onnx::NodeProto& node, const std::string& name,
                                             std::vector<std::int64_t> fallback);

// bad_input: a form of an op that is not supported, and what is.
[[noreturn]] void unsupported(const std::string& what, const std::string& remedy = {});

// An axis counted from the front.
std::size_t axis_of(std::int64_t axis, std::size_t rank);

// Integers from an attribute (older opsets) or a constant operand (newer).
std::vector<std::int64_t> integers_of(Importer& importer, const onnx::NodeProto& node,
                                      const std::string& attribute, int input,
                                      std::vector<std::int64_t> fallback);

// The Gelu whose last product this is: true when it was recognised and emitted.
bool fuse_gelu(Importer& importer, const onnx::NodeProto& node, TensorId left, TensorId right);

}  // namespace ddl::onnx_io
