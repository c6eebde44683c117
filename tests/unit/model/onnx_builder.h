// Small ONNX files for tests, as other exporters would write them.
#pragma once

#include "ddl/model/onnx/proto.h"

#include <fstream>
#include <string>
#include <vector>

#include "unit/model/model_test.h"

namespace ddl {

class OnnxBuilder {
 public:
  OnnxBuilder() {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    model.mutable_graph()->set_name("test");
  }

  onnx::ModelProto model;

  // An extent of 0 is symbolic.
  OnnxBuilder& input(const std::string& name, const Shape& shape,
                     int type = onnx::TensorProto::FLOAT) {
    describe(*model.mutable_graph()->add_input(), name, shape, type);
    return *this;
  }
  OnnxBuilder& output(const std::string& name) {
    describe(*model.mutable_graph()->add_output(), name, {}, onnx::TensorProto::FLOAT);
    return *this;
  }
  OnnxBuilder& weight(const std::string& name, const Shape& shape, std::uint64_t stream) {
    const auto value = random_tensor(shape, stream, 0.1, 1);
    onnx::TensorProto& proto = *model.mutable_graph()->add_initializer();
    proto.set_name(name);
    proto.set_data_type(onnx::TensorProto::FLOAT);
    for (const std::int64_t extent : shape) proto.add_dims(extent);
    proto.set_raw_data(value->bytes.data(), value->bytes.size());
    return *this;
  }
  OnnxBuilder& integers(const std::string& name, const std::vector<std::int64_t>& values,
                        bool is_scalar = false) {
    onnx::TensorProto& proto = *model.mutable_graph()->add_initializer();
    proto.set_name(name);
    proto.set_data_type(onnx::TensorProto::INT64);
    if (!is_scalar) proto.add_dims(static_cast<std::int64_t>(values.size()));
    for (const std::int64_t value : values) proto.add_int64_data(value);
    return *this;
  }
  OnnxBuilder& scalar(const std::string& name, float value) {
    onnx::TensorProto& proto = *model.mutable_graph()->add_initializer();
    proto.set_name(name);
    proto.set_data_type(onnx::TensorProto::FLOAT);
    proto.add_float_data(value);
    return *this;
  }
  OnnxBuilder& node(const std::string& op, const std::vector<std::string>& inputs,
                    const std::vector<std::string>& outputs) {
    onnx::NodeProto& proto = *model.mutable_graph()->add_node();
    proto.set_op_type(op);
    proto.set_name("/" + outputs.front());
    for (const std::string& name : inputs) proto.add_input(name);
    for (const std::string& name : outputs) proto.add_output(name);
    return *this;
  }
  // Attributes of the last node.
  OnnxBuilder& with(const std::string& name, std::int64_t value) {
    onnx::AttributeProto& attribute = attribute_of(name, onnx::AttributeProto::INT);
    attribute.set_i(value);
    return *this;
  }
  OnnxBuilder& with(const std::string& name, const std::vector<std::int64_t>& values) {
    onnx::AttributeProto& attribute = attribute_of(name, onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
    return *this;
  }
  OnnxBuilder& with_text(const std::string& name, const std::string& value) {
    attribute_of(name, onnx::AttributeProto::STRING).set_s(value);
    return *this;
  }
  void write(const std::filesystem::path& file) const {
    std::ofstream stream(file, std::ios::binary);
    model.SerializeToOstream(&stream);
  }

 private:
  onnx::AttributeProto& attribute_of(const std::string& name,
                                     onnx::AttributeProto::AttributeType type) {
    auto& nodes = *model.mutable_graph()->mutable_node();
    onnx::AttributeProto& attribute = *nodes[nodes.size() - 1].add_attribute();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }
  static void describe(onnx::ValueInfoProto& info, const std::string& name, const Shape& shape,
                       int type) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (const std::int64_t extent : shape) {
      auto& dimension = *tensor.mutable_shape()->add_dim();
      if (extent == 0) {
        dimension.set_dim_param("batch");
      } else {
        dimension.set_dim_value(extent);
      }
    }
  }
};

}  // namespace ddl
