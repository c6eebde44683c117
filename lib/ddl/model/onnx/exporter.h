// A graph to ONNX's protobuf: values and inputs in save.cpp, ops in export_ops.cpp.
//
// Ops that ONNX has under the same name are written as they are; shapes kept in attributes become
// constant operands again; transposed products become Transpose and MatMul, and Gelu, which is
// younger than opset 17, its pieces. load.cpp puts both together again.
#pragma once

#include "ddl/model/graph.h"
#include "ddl/model/onnx.h"
#include "ddl/model/onnx/proto.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ddl::onnx_io {

class Exporter {
 public:
  Exporter(const Graph& graph,
           const std::map<std::string, std::shared_ptr<const HostTensor>>& values,
           onnx::GraphProto& proto)
      : graph_(graph), values_(values), proto_(proto) {}

  void write(const ModelMetadata& metadata, bool bake);

 private:
  const std::string& name(TensorId id) const { return graph_.tensor(id).name; }
  std::string free_name(const std::string& wish);
  onnx::NodeProto& node(const std::string& op, const std::string& node_name,
                        const std::vector<std::string>& inputs, const std::string& output);
  std::string constant(const std::string& wish, const HostTensor& value);
  std::string scalar(const std::string& wish, double value);
  std::string integers(const std::string& wish, const std::vector<std::int64_t>& values);

  void write_value(const Tensor& tensor);
  void write_input(TensorId id, const ModelMetadata& metadata, bool bake);
  void bake_input(const Field& field, const Tensor& input);
  void write_node(const Node& node);
  void write_window(onnx::NodeProto& proto, const Node& node, const Shape& kernel);
  void write_matmul(const Node& node);
  void write_gelu(const Node& node);
  void write_slice(const Node& node);
  std::vector<std::string> input_names(const Node& node) const;

  const Graph& graph_;
  const std::map<std::string, std::shared_ptr<const HostTensor>>& values_;
  onnx::GraphProto& proto_;
  std::map<TensorId, std::string> renamed_;  // inputs behind baked preprocessing
  std::map<std::string, bool> extra_names_;
};

void set_attribute(onnx::NodeProto& node, const std::string& name, std::int64_t value);
void set_attribute(onnx::NodeProto& node, const std::string& name, double value);
void set_attribute(onnx::NodeProto& node, const std::string& name,
                   const std::vector<std::int64_t>& values);

}  // namespace ddl::onnx_io
