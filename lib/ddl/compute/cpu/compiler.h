// Turns a graph into a program, node by node. Makers (makers.h) call it to ask for their operands
// in the layout they want and to add the steps that compute their outputs; changes of layout become
// steps of their own here, made once per tensor and layout.
//
// Parameters, buffers and constants change layout in Executor::prepare(), not in a run.
#pragma once

#include "ddl/compute/cpu/program.h"

#include <any>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace ddl::cpu {

class Compiler {
 public:
  Compiler(const Graph& graph, const ExecutorOptions& options);
  Program run();

  const Graph& graph() const { return graph_; }
  const Tensor& tensor(TensorId id) const { return graph_.tensor(id); }
  // The type of products' operands: f32 or bf16.
  onednn::DataType product_type() const { return product_type_; }

  // Values of a tensor.
  ValueId row_major(TensorId id);    // in row-major order
  ValueId as_produced(TensorId id);  // in whatever layout it was computed
  // In the layout `desc`, whose extents may group the tensor's otherwise (weights of grouped
  // convolutions). Its type may differ from the tensor's.
  ValueId in_layout(TensorId id, const onednn::MemoryDesc& desc);
  // In the layout `desc`, its elements being those that `view` finds in row-major memory. Where
  // view and desc agree this is the row-major value itself.
  ValueId in_layout(TensorId id, const onednn::MemoryDesc& view, const onednn::MemoryDesc& desc);
  // How a primitive sees a value.
  onednn::MemoryDesc desc_of(ValueId value) const;
  bool is_row_major(ValueId value) const;

  // New memory for an output of the current node.
  ValueId output(TensorId id);                                  // row-major
  ValueId output(TensorId id, const onednn::MemoryDesc& desc);  // as given
  ValueId output_like(TensorId id, ValueId like);
  // An output that only its gradient op can read.
  ValueId opaque_output(TensorId id, std::size_t bytes);
  // The output is the row-major value `of` under another shape or name.
  void alias(TensorId id, ValueId of);
  ValueId scratch(std::size_t bytes);

  struct Argument {
    int role = 0;
    ValueId value = -1;
    onednn::MemoryDesc desc;
  };
  // Adds a primitive; its scratchpad comes from the memory plan.
  template <class Primitive, class PrimitiveDesc>
  void call(const PrimitiveDesc& desc, std::vector<Argument> arguments) {
    add_call(Primitive(desc), desc.impl_info_str(), desc.scratchpad_desc(), std::move(arguments));
  }
  void loop(std::string implementation, std::vector<ValueId> operands, Loop body);
  // The step added last may write operand `to` over operand `from`.
  void allow_in_place(int from, int to);

  // What a gradient op wants to know of its forward op, under a key that both can tell. recall()
  // returns an empty value for a key that is not known.
  void remember(const std::string& key, std::any knowledge) { memory_[key] = std::move(knowledge); }
  std::any recall(const std::string& key) const;

  // Whether output `index` of the node was asked for.
  static bool has_output(const Node& node, std::size_t index);
  static bool has_input(const Node& node, std::size_t index);

 private:
  struct Representation {
    ValueId value;
    onednn::MemoryDesc view, desc;
  };
  void add_call(dnnl::primitive primitive, const char* implementation,
                const onednn::MemoryDesc& scratchpad, std::vector<Argument> arguments);
  bool is_prepared(TensorId id) const;
  BufferId new_buffer(Storage storage, std::size_t bytes);
  ValueId new_value(BufferId buffer, DType dtype, Shape shape,
                    std::optional<onednn::MemoryDesc> layout);
  ValueId reorder(TensorId id, ValueId from, const onednn::MemoryDesc& view,
                  const onednn::MemoryDesc& desc);
  ValueId prepare(TensorId id, const onednn::MemoryDesc& view, const onednn::MemoryDesc& desc);
  void emit(TensorId id);
  void reuse_in_place();
  void place();

  const Graph& graph_;
  onednn::DataType product_type_;
  Program program_;
  std::size_t node_ = 0;
  std::vector<ValueId> produced_, row_major_;                  // by tensor, -1: none yet
  std::map<TensorId, std::vector<Representation>> converted_;  // other layouts
  std::map<std::string, std::any> memory_;
};

// Bytes of a value: padding of blocked layouts included.
std::size_t value_bytes(const Value& value);
onednn::DataType data_type(DType dtype);

}  // namespace ddl::cpu
