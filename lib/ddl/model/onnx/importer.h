// One pass over an ONNX graph for one batch size: values by name, constants folded, each node
// translated to ops of ddl (op.h).
//
// load.cpp runs two passes with different batches and keeps what they agree on, which is how shapes
// computed from the batch are told from fixed ones.
#pragma once

#include "ddl/model/graph.h"
#include "ddl/model/onnx/proto.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ddl::onnx_io {

// A value of the ONNX graph: a tensor of ours, or a constant that became none yet.
struct Value {
  TensorId tensor = kNoTensor;
  std::shared_ptr<const HostTensor> constant;
};

// Decoded initialisers, shared between passes.
using Initialisers = std::map<std::string, std::shared_ptr<const HostTensor>>;
Initialisers read_initialisers(const onnx::GraphProto& graph, const std::filesystem::path& folder);

class Importer {
 public:
  // batch: extent of axis 0 of every input.
  Importer(const onnx::ModelProto& model, const Initialisers& initialisers, std::int64_t opset,
           std::int64_t batch, bool unbake);
  Graph run();

  // For the translations (translate.h).
  Graph graph;
  std::int64_t opset() const { return opset_; }
  bool given(const onnx::NodeProto& node, int input) const;
  // Operand as a tensor of the graph; constants are added to it. Absent: bad_input.
  TensorId tensor(const onnx::NodeProto& node, int input);
  TensorId optional_tensor(const onnx::NodeProto& node, int input);
  const Shape& shape(const onnx::NodeProto& node, int input);
  // nullptr when the operand is absent or computed.
  std::shared_ptr<const HostTensor> constant(const onnx::NodeProto& node, int input) const;
  // Integers of a constant operand; bad_input when it is computed.
  std::vector<std::int64_t> integers(const onnx::NodeProto& node, int input) const;
  // Adds the node's op under the node's own name and output name.
  void emit(const onnx::NodeProto& node, const std::string& op, std::vector<TensorId> inputs,
            std::map<std::string, Attribute> attributes = {}, int output = 0);
  // Adds a helper op.
  TensorId emit_part(const onnx::NodeProto& node, const std::string& op,
                     std::vector<TensorId> inputs,
                     std::map<std::string, Attribute> attributes = {});
  void bind(const onnx::NodeProto& node, int output, Value value);
  TensorId scalar(const onnx::NodeProto& node, double value);
  // The node of ours that computes a tensor, nullptr when none.
  const Node* producer(TensorId tensor) const;
  // The one value of a constant with one element.
  const float* scalar_constant(TensorId tensor) const;

 private:
  void add_values();
  void add_inputs();
  void translate(const onnx::NodeProto& node);
  TensorId materialise(const std::string& name, Value& value);
  const Value& value(const onnx::NodeProto& node, int input) const;
  void adopt(TensorId tensor, const std::string& name);
  std::string node_name(const onnx::NodeProto& node);

  const onnx::ModelProto& model_;
  const Initialisers& initialisers_;
  std::int64_t opset_, batch_;
  bool unbake_;
  std::map<std::string, Value> values_;
  std::set<std::string> node_names_;
  std::map<TensorId, std::size_t> producers_;
};

// How errors name a node: node 'conv1' (Conv).
std::string described(const onnx::NodeProto& node);

// The batch that inputs declare on axis 0, 0 when it is symbolic.
std::int64_t declared_batch(const onnx::GraphProto& graph);

}  // namespace ddl::onnx_io
