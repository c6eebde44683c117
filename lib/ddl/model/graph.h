// The model: a static graph of typed ops with known shapes for one task. One graph serves planning
// and training (DESIGN section 5). Values are numbered tensors; nodes are in topological order.
//
// Ownership: a Graph is a value. Initial values of parameters, buffers and constants are shared,
// immutable. Threads: const access is safe. Errors: bad_input naming the node.
#pragma once

#include "ddl/base/dtype.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ddl {

using TensorId = std::int32_t;
inline constexpr TensorId kNoTensor = -1;  // an absent optional input or output

enum class TensorRole {
  input,         // fed per task; axis 0 is the task's batch
  parameter,     // trained; fp32 master held by the trainer
  buffer,        // kept with the model, not trained (running statistics, masks)
  constant,      // folded value, part of the graph
  intermediate,  // computed
};

// Host values, row-major, little-endian.
struct HostTensor {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::byte> bytes;
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bytes.data());
  }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes.data());
  }
};

struct Tensor {
  std::string name;  // unique in the graph; parameters keep the name of the file they came from
  DType dtype = DType::f32;
  Shape shape;
  TensorRole role = TensorRole::intermediate;
  std::shared_ptr<const HostTensor> value;  // parameter, buffer, constant
};

using Attribute =
    std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>>;

struct Node {
  std::string op;    // a name from op.h
  std::string name;  // unique
  std::vector<TensorId> inputs, outputs;
  std::map<std::string, Attribute> attributes;

  std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  double real(std::string_view key, double fallback) const;
  std::string text(std::string_view key, std::string fallback) const;
  std::vector<std::int64_t> integers(std::string_view key,
                                     std::vector<std::int64_t> fallback = {}) const;
};

class Graph {
 public:
  std::string name;

  TensorId add_tensor(Tensor tensor);
  TensorId add_input(std::string tensor_name, DType dtype, Shape shape);
  TensorId add_parameter(std::string tensor_name, std::shared_ptr<const HostTensor> value);
  TensorId add_buffer(std::string tensor_name, std::shared_ptr<const HostTensor> value);
  TensorId add_constant(std::string tensor_name, std::shared_ptr<const HostTensor> value);
  // Adds an output to node number `node` (its next optional one) and infers its shape.
  TensorId add_output(std::size_t node);
  // Appends a node, infers its output shapes (op.h) and returns the output ids. `outputs` is the
  // number of outputs wanted. Throws bad_input naming node, op and the shapes found.
  std::vector<TensorId> add_node(std::string op, std::vector<TensorId> inputs,
                                 std::map<std::string, Attribute> attributes = {}, int outputs = 1,
                                 std::string node_name = {});
  // The same for ops with one output.
  TensorId add(std::string op, std::vector<TensorId> inputs,
               std::map<std::string, Attribute> attributes = {}, std::string node_name = {});

  const Tensor& tensor(TensorId id) const { return tensors_[static_cast<std::size_t>(id)]; }
  Tensor& tensor(TensorId id) { return tensors_[static_cast<std::size_t>(id)]; }
  std::size_t tensor_count() const { return tensors_.size(); }
  const std::vector<Node>& nodes() const { return nodes_; }
  std::vector<Node>& nodes() { return nodes_; }

  std::vector<TensorId> inputs;   // in declared order
  std::vector<TensorId> outputs;  // in declared order
  // Parameters, then buffers, each in graph order: the order of hashes and checkpoints.
  std::vector<TensorId> parameters() const;
  std::vector<TensorId> buffers() const;
  void rename(TensorId id, std::string tensor_name);  // throws when the name is taken
  TensorId find(std::string_view tensor_name) const;  // kNoTensor when absent
  std::int64_t parameter_count() const;               // elements over all parameters

  // The same graph for another batch: inputs get axis 0 = samples, shapes are inferred again.
  Graph with_batch(std::int64_t samples) const;
  std::int64_t batch() const;  // axis 0 of the first input
  // XXH3-128 over structure, attributes, names and shapes with the batch axis left out; not values.
  std::string structure_hash() const;

 private:
  void infer(const Node& node, std::vector<Tensor>& results) const;

  std::vector<Tensor> tensors_;
  std::vector<Node> nodes_;
  std::map<std::string, TensorId, std::less<>> tensor_names_;
  std::set<std::string, std::less<>> node_names_;
};

std::shared_ptr<HostTensor> make_host_tensor(DType dtype, Shape shape);
std::shared_ptr<HostTensor> make_f32(Shape shape, const std::vector<float>& values);
std::shared_ptr<HostTensor> make_i64(Shape shape, const std::vector<std::int64_t>& values);

}  // namespace ddl
