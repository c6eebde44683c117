#include "ddl/compute/cpu/compiler.h"

#include "ddl/base/error.h"
#include "ddl/compute/cpu/makers.h"
#include "ddl/compute/cpu/run_state.h"
#include "ddl/compute/memory_plan.h"

#include <algorithm>

namespace ddl::cpu {
namespace {

std::size_t index_of(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

std::string node_text(const Node& node) {
  return "node '" + node.name + "' (" + node.op + ")";
}

DType dtype_of(onednn::DataType type) {
  return type == onednn::DataType::bf16 ? DType::bf16 : DType::f32;
}

// Whether the memory under a descriptor is in row-major order of its extents.
bool describes_row_major(const onednn::MemoryDesc& desc) {
  return desc == onednn::row_major(onednn::dims_of(desc), onednn::type_of(desc));
}

}  // namespace

onednn::DataType data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return onednn::DataType::f32;
    case DType::bf16:
      return onednn::DataType::bf16;
    case DType::i32:
      return onednn::DataType::s32;
    case DType::u8:
      return onednn::DataType::u8;
    default:
      throw bad_input("a tensor of " + std::string(dtype_name(dtype)) + " has no layout");
  }
}

std::size_t value_bytes(const Value& value) {
  if (value.layout) return value.layout->get_size();
  return static_cast<std::size_t>(element_count(value.shape)) * dtype_bytes(value.dtype);
}

Compiler::Compiler(const Graph& graph, const ExecutorOptions& options)
    : graph_(graph),
      product_type_(data_type(options.dtype)),
      produced_(graph.tensor_count(), -1),
      row_major_(graph.tensor_count(), -1) {}

Program Compiler::run() {
  for (const TensorId id : graph_.inputs) {
    const Tensor& input = tensor(id);
    const BufferId buffer =
        new_buffer(Storage::input,
                   static_cast<std::size_t>(element_count(input.shape)) * dtype_bytes(input.dtype));
    program_.buffers[index_of(buffer)].tensor = id;
    produced_[index_of(id)] = row_major_[index_of(id)] =
        new_value(buffer, input.dtype, input.shape, std::nullopt);
  }
  // Outputs that no node computes are handed over first.
  std::vector<bool> computed(graph_.tensor_count(), false);
  for (const Node& node : graph_.nodes()) {
    for (const TensorId id : node.outputs) {
      if (id != kNoTensor) computed[index_of(id)] = true;
    }
  }
  for (const TensorId id : graph_.outputs) {
    if (tensor(id).dtype != DType::f32) {
      throw bad_input("output '" + tensor(id).name + "' is " +
                          std::string(dtype_name(tensor(id).dtype)) + ", expected float32",
                      "cast it in the model");
    }
    if (!computed[index_of(id)]) emit(id);
  }
  for (node_ = 0; node_ < graph_.nodes().size(); ++node_) {
    const Node& node = graph_.nodes()[node_];
    try {
      maker_of(node.op)(*this, node);
      for (const TensorId id : node.outputs) {
        if (id != kNoTensor) emit(id);
      }
    } catch (Error& error) {
      throw error.with_pointer(node_text(node));
    } catch (const dnnl::error& error) {
      throw bad_input("oneDNN has no implementation for these shapes and types: " +
                      onednn::status_text(error.status))
          .with_pointer(node_text(node));
    }
  }
  reuse_in_place();
  place();
  return std::move(program_);
}

bool Compiler::has_output(const Node& node, std::size_t index) {
  return index < node.outputs.size() && node.outputs[index] != kNoTensor;
}

bool Compiler::has_input(const Node& node, std::size_t index) {
  return index < node.inputs.size() && node.inputs[index] != kNoTensor;
}

bool Compiler::is_prepared(TensorId id) const {
  const TensorRole role = tensor(id).role;
  return role == TensorRole::parameter || role == TensorRole::buffer ||
         role == TensorRole::constant;
}

BufferId Compiler::new_buffer(Storage storage, std::size_t bytes) {
  program_.buffers.push_back({storage, bytes, 0, kNoTensor});
  return static_cast<BufferId>(program_.buffers.size()) - 1;
}

ValueId Compiler::new_value(BufferId buffer, DType dtype, Shape shape,
                            std::optional<onednn::MemoryDesc> layout) {
  program_.values.push_back({buffer, dtype, std::move(shape), std::move(layout)});
  return static_cast<ValueId>(program_.values.size()) - 1;
}

onednn::MemoryDesc Compiler::desc_of(ValueId id) const {
  const Value& value = program_.values[index_of(id)];
  if (value.layout) return *value.layout;
  const Shape shape = value.shape.empty() ? Shape{1} : value.shape;
  return onednn::row_major(shape, data_type(value.dtype));
}

bool Compiler::is_row_major(ValueId id) const {
  return !program_.values[index_of(id)].layout.has_value();
}

ValueId Compiler::as_produced(TensorId id) {
  if (produced_[index_of(id)] >= 0) return produced_[index_of(id)];
  return row_major(id);
}

ValueId Compiler::row_major(TensorId id) {
  ValueId& known = row_major_[index_of(id)];
  if (known >= 0) return known;
  const Tensor& wanted = tensor(id);
  if (is_prepared(id)) {
    const BufferId buffer =
        new_buffer(Storage::prepared, static_cast<std::size_t>(element_count(wanted.shape)) *
                                          dtype_bytes(wanted.dtype));
    known = new_value(buffer, wanted.dtype, wanted.shape, std::nullopt);
    program_.preparations.push_back({id, known, std::nullopt});
    return known;
  }
  const ValueId from = produced_[index_of(id)];
  if (from < 0) throw bad_input("'" + wanted.name + "' is read before it is computed");
  const onednn::MemoryDesc layout = desc_of(from);
  const ValueId made = reorder(id, from, layout,
                               onednn::row_major(onednn::dims_of(layout), data_type(wanted.dtype)));
  program_.values[index_of(made)].shape = wanted.shape;
  return row_major_[index_of(id)] = made;
}

ValueId Compiler::in_layout(TensorId id, const onednn::MemoryDesc& desc) {
  const ValueId produced = produced_[index_of(id)];
  if (produced >= 0 && !is_row_major(produced)) {
    const onednn::MemoryDesc layout = desc_of(produced);
    if (layout == desc) return produced;
    if (onednn::dims_of(layout) == onednn::dims_of(desc)) {
      for (const Representation& made : converted_[id]) {
        if (made.desc == desc && made.view == layout) return made.value;
      }
      if (describes_row_major(desc) && onednn::type_of(desc) == data_type(tensor(id).dtype)) {
        return row_major(id);
      }
      const ValueId value = reorder(id, produced, layout, desc);
      converted_[id].push_back({value, layout, desc});
      return value;
    }
  }
  return in_layout(id, onednn::row_major(onednn::dims_of(desc), data_type(tensor(id).dtype)), desc);
}

ValueId Compiler::in_layout(TensorId id, const onednn::MemoryDesc& view,
                            const onednn::MemoryDesc& desc) {
  if (view == desc) return row_major(id);
  for (const Representation& made : converted_[id]) {
    if (made.desc == desc && made.view == view) return made.value;
  }
  const ValueId value =
      is_prepared(id) ? prepare(id, view, desc) : reorder(id, row_major(id), view, desc);
  converted_[id].push_back({value, view, desc});
  return value;
}

ValueId Compiler::reorder(TensorId id, ValueId from, const onednn::MemoryDesc& view,
                          const onednn::MemoryDesc& desc) {
  const BufferId buffer = new_buffer(Storage::arena, desc.get_size());
  std::optional<onednn::MemoryDesc> layout;
  if (!describes_row_major(desc)) layout = desc;
  const ValueId to =
      new_value(buffer, dtype_of(onednn::type_of(desc)), tensor(id).shape, std::move(layout));
  const dnnl::reorder::primitive_desc change(onednn::engine(), view, onednn::engine(), desc,
                                             onednn::attributes());
  call<dnnl::reorder>(change, {{DNNL_ARG_FROM, from, view}, {DNNL_ARG_TO, to, desc}});
  program_.steps.back().is_reorder = true;
  return to;
}

ValueId Compiler::prepare(TensorId id, const onednn::MemoryDesc& view,
                          const onednn::MemoryDesc& desc) {
  const BufferId buffer = new_buffer(Storage::prepared, desc.get_size());
  const ValueId value = new_value(buffer, dtype_of(onednn::type_of(desc)), tensor(id).shape, desc);
  // The library's own scratchpad: prepare() runs alone.
  const dnnl::reorder::primitive_desc change(onednn::engine(), view, onednn::engine(), desc);
  program_.preparations.push_back(
      {id, value,
       PrimitiveCall{dnnl::reorder(change), {{DNNL_ARG_FROM, 0, view}, {DNNL_ARG_TO, 1, desc}}}});
  return value;
}

ValueId Compiler::output(TensorId id) {
  const Tensor& made = tensor(id);
  const BufferId buffer =
      new_buffer(Storage::arena,
                 static_cast<std::size_t>(element_count(made.shape)) * dtype_bytes(made.dtype));
  const ValueId value = new_value(buffer, made.dtype, made.shape, std::nullopt);
  produced_[index_of(id)] = row_major_[index_of(id)] = value;
  return value;
}

ValueId Compiler::output(TensorId id, const onednn::MemoryDesc& desc) {
  if (describes_row_major(desc) && onednn::type_of(desc) == data_type(tensor(id).dtype)) {
    return output(id);
  }
  const BufferId buffer = new_buffer(Storage::arena, desc.get_size());
  const ValueId value = new_value(buffer, tensor(id).dtype, tensor(id).shape, desc);
  produced_[index_of(id)] = value;
  return value;
}

ValueId Compiler::output_like(TensorId id, ValueId like) {
  return is_row_major(like) ? output(id) : output(id, desc_of(like));
}

ValueId Compiler::opaque_output(TensorId id, std::size_t bytes) {
  return produced_[index_of(id)] = scratch(bytes);
}

void Compiler::alias(TensorId id, ValueId of) {
  const BufferId buffer = program_.values[index_of(of)].buffer;
  produced_[index_of(id)] = row_major_[index_of(id)] =
      new_value(buffer, tensor(id).dtype, tensor(id).shape, std::nullopt);
}

ValueId Compiler::scratch(std::size_t bytes) {
  return new_value(new_buffer(Storage::arena, bytes), DType::u8, {static_cast<std::int64_t>(bytes)},
                   std::nullopt);
}

void Compiler::add_call(dnnl::primitive primitive, const char* implementation,
                        const onednn::MemoryDesc& scratchpad, std::vector<Argument> arguments) {
  Step step;
  step.node = node_;
  step.implementation = implementation;
  PrimitiveCall call{std::move(primitive), {}};
  for (Argument& argument : arguments) {
    call.arguments.push_back({argument.role, step.operands.size(), std::move(argument.desc)});
    step.operands.push_back(argument.value);
  }
  if (const std::size_t bytes = scratchpad.get_size(); bytes > 0) {
    call.arguments.push_back({DNNL_ARG_SCRATCHPAD, step.operands.size(), scratchpad});
    step.operands.push_back(scratch(bytes));
  }
  step.work = std::move(call);
  program_.steps.push_back(std::move(step));
}

void Compiler::loop(std::string implementation, std::vector<ValueId> operands, Loop body) {
  Step step;
  step.node = node_;
  step.implementation = std::move(implementation);
  step.operands = std::move(operands);
  step.work = std::move(body);
  program_.steps.push_back(std::move(step));
}

void Compiler::allow_in_place(int from, int to) {
  program_.steps.back().in_place_from = from;
  program_.steps.back().in_place_to = to;
}

std::any Compiler::recall(const std::string& key) const {
  const auto found = memory_.find(key);
  return found == memory_.end() ? std::any() : found->second;
}

void Compiler::emit(TensorId id) {
  for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
    if (graph_.outputs[i] != id) continue;
    Step step;
    step.node = node_;
    step.implementation = "output";
    step.operands = {row_major(id)};
    step.work = Emit{i, static_cast<std::size_t>(element_count(tensor(id).shape))};
    program_.steps.push_back(std::move(step));
  }
}

// An output takes over the memory of an operand that no later step reads.
void Compiler::reuse_in_place() {
  std::vector<std::size_t> last(program_.buffers.size(), 0);
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    for (const ValueId id : program_.steps[i].operands) {
      last[index_of(program_.values[index_of(id)].buffer)] = i;
    }
  }
  std::vector<BufferId> becomes(program_.buffers.size());
  for (std::size_t i = 0; i < becomes.size(); ++i) becomes[i] = static_cast<BufferId>(i);
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    const Step& step = program_.steps[i];
    if (step.in_place_from < 0) continue;
    const auto buffer = [&](int operand) {
      const ValueId id = step.operands[static_cast<std::size_t>(operand)];
      return becomes[index_of(program_.values[index_of(id)].buffer)];
    };
    const BufferId from = buffer(step.in_place_from), to = buffer(step.in_place_to);
    const Buffer &source = program_.buffers[index_of(from)],
                 &target = program_.buffers[index_of(to)];
    if (from == to || source.storage != Storage::arena || source.bytes != target.bytes ||
        last[index_of(from)] != i) {
      continue;
    }
    // The same memory under two operands that are both read elsewhere in this step stays apart.
    const auto uses = std::count_if(step.operands.begin(), step.operands.end(), [&](ValueId id) {
      return becomes[index_of(program_.values[index_of(id)].buffer)] == from;
    });
    if (uses != 1) continue;
    for (BufferId& target_of : becomes) {
      if (target_of == to) target_of = from;
    }
    last[index_of(from)] = last[index_of(to)];
  }
  for (Value& value : program_.values) value.buffer = becomes[index_of(value.buffer)];
}

void Compiler::place() {
  std::vector<BufferLife> lives(program_.buffers.size());
  for (std::size_t i = 0; i < lives.size(); ++i) {
    lives[i] = {program_.buffers[i].bytes, static_cast<int>(program_.steps.size()), -1};
  }
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    for (const ValueId id : program_.steps[i].operands) {
      const BufferId buffer = program_.values[index_of(id)].buffer;
      if (program_.buffers[index_of(buffer)].storage != Storage::arena) continue;
      BufferLife& life = lives[index_of(buffer)];
      life.first = std::min(life.first, static_cast<int>(i));
      life.last = std::max(life.last, static_cast<int>(i));
    }
  }
  const MemoryPlan plan = plan_memory(lives);
  program_.arena_bytes = plan.bytes;
  program_.lower_bound_bytes = plan.lower_bound_bytes;
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    Buffer& buffer = program_.buffers[i];
    if (buffer.storage == Storage::arena) {
      buffer.offset = plan.offsets[i];
    } else if (buffer.storage == Storage::prepared) {
      buffer.offset = program_.prepared_bytes;
      program_.prepared_bytes +=
          (buffer.bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    }
  }
}

Program compile(const Graph& graph, const ExecutorOptions& options) {
  if (options.threads < 1) throw bad_input(std::to_string(options.threads) + " threads for a run");
  if (options.dtype != DType::f32 && options.dtype != DType::bf16) {
    throw bad_input(
        "products in " + std::string(dtype_name(options.dtype)) + " are not supported on a CPU",
        "use float32 or bfloat16");
  }
  onednn::cap_instruction_set(options.isa);
  if (options.dtype == DType::bf16 && !onednn::has_avx512()) {
    throw bad_input("products in bfloat16 need AVX-512, which " +
                        onednn::effective_instruction_set() + " has not",
                    "use float32");
  }
  // Primitives split their work by the thread count that they find when they are made.
  const RunState state(options.threads);
  return Compiler(graph, options).run();
}

}  // namespace ddl::cpu
