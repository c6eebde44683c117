#include "ddl/compute/executor.h"

#include "ddl/base/error.h"
#include "ddl/compute/cpu/program.h"
#include "ddl/compute/cpu/run_state.h"
#include "ddl/compute/memory_plan.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace ddl {
namespace {

using cpu::Buffer;
using cpu::Emit;
using cpu::Loop;
using cpu::Preparation;
using cpu::PrimitiveCall;
using cpu::Program;
using cpu::Step;
using cpu::Storage;
using cpu::Value;
using cpu::ValueId;

std::size_t index_of(std::int32_t id) {
  return static_cast<std::size_t>(id);
}

struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, FreeMemory>;

// Zeroed, so that no value ever depends on what lay in memory before.
Memory allocate(std::size_t bytes) {
  const std::size_t size = (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
  if (size == 0) return nullptr;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kArenaAlignment, size));
  if (memory == nullptr) {
    throw failure("no memory for " + std::to_string(size) + " bytes of activations",
                  "use a smaller task or fewer lanes");
  }
  std::memset(memory, 0, size);
  return Memory(memory);
}

// What belongs to one lane: its memory, and every primitive's operands bound to it.
class CpuLane final : public Lane {
 public:
  CpuLane(const Program& program, std::byte* prepared)
      : owner(&program), stream(onednn::engine()), arena_(allocate(program.arena_bytes)) {
    calls.resize(program.steps.size());
    pointers.resize(program.steps.size());
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
      const Step& step = program.steps[i];
      for (std::size_t position = 0; position < step.operands.size(); ++position) {
        const Buffer& buffer = buffer_of(program, step.operands[position]);
        void* place = nullptr;
        if (buffer.storage == Storage::arena) place = arena_.get() + buffer.offset;
        if (buffer.storage == Storage::prepared) place = prepared + buffer.offset;
        pointers[i].push_back(place);
      }
      const auto* call = std::get_if<PrimitiveCall>(&step.work);
      if (call == nullptr) continue;
      for (const cpu::PrimitiveArgument& argument : call->arguments) {
        memories_.emplace_back(argument.desc, onednn::engine(), pointers[i][argument.operand]);
        calls[i].push_back({argument.role, memories_.back().get()});
      }
    }
    bind_inputs(program);
  }

  const Program* owner;
  dnnl::stream stream;
  std::vector<std::vector<void*>> pointers;         // by step and operand
  std::vector<std::vector<dnnl_exec_arg_t>> calls;  // by step

  // Places of one input in the tables above.
  struct InputUse {
    std::size_t step = 0, position = 0;
    std::vector<dnnl_memory_t> memories;
  };
  std::vector<std::pair<TensorId, std::vector<InputUse>>> inputs;

 private:
  static const Buffer& buffer_of(const Program& program, ValueId id) {
    return program.buffers[index_of(program.values[index_of(id)].buffer)];
  }

  void bind_inputs(const Program& program) {
    for (const Buffer& input : program.buffers) {
      if (input.storage != Storage::input) continue;
      std::vector<InputUse> uses;
      for (std::size_t i = 0; i < program.steps.size(); ++i) {
        const Step& step = program.steps[i];
        for (std::size_t position = 0; position < step.operands.size(); ++position) {
          if (&buffer_of(program, step.operands[position]) != &input) continue;
          InputUse use{i, position, {}};
          if (const auto* call = std::get_if<PrimitiveCall>(&step.work)) {
            for (std::size_t k = 0; k < call->arguments.size(); ++k) {
              if (call->arguments[k].operand == position) {
                use.memories.push_back(const_cast<dnnl_memory_t>(calls[i][k].memory));
              }
            }
          }
          uses.push_back(std::move(use));
        }
      }
      inputs.emplace_back(input.tensor, std::move(uses));
    }
  }

  Memory arena_;
  std::vector<dnnl::memory> memories_;
};

class CpuExecutor final : public Executor {
 public:
  CpuExecutor(const Graph& graph, const ExecutorOptions& options)
      : threads_(options.threads), program_(cpu::compile(graph, options)) {
    tensors_.reserve(graph.tensor_count());
    for (std::size_t i = 0; i < graph.tensor_count(); ++i) {
      const Tensor& tensor = graph.tensor(static_cast<TensorId>(i));
      tensors_.push_back({tensor.name, tensor.role});
    }
    for (const Node& node : graph.nodes()) nodes_.push_back({node.name, node.op});
    prepared_memory_ = allocate(program_.prepared_bytes);
    prepared_ = true;
    for (const Preparation& preparation : program_.preparations) {
      if (role_of(preparation.tensor) != TensorRole::constant) {
        prepared_ = false;
        continue;
      }
      const Tensor& tensor = graph.tensor(preparation.tensor);
      if (tensor.value == nullptr) throw bad_input("constant '" + tensor.name + "' has no value");
      fill(preparation, tensor.value->bytes.data());
    }
  }

  std::unique_ptr<Lane> make_lane() const override {
    try {
      return std::make_unique<CpuLane>(program_, prepared_memory_.get());
    } catch (const dnnl::error& error) {
      throw failure("oneDNN failed in making a lane: " + onednn::status_text(error.status));
    }
  }

  void prepare(std::span<const TensorBinding> values) override {
    for (const TensorBinding& binding : values) {
      const TensorRole role = role_of(binding.tensor);
      if (role != TensorRole::parameter && role != TensorRole::buffer) {
        throw bad_input("'" + tensors_[index_of(binding.tensor)].name +
                        "' is neither a parameter nor a buffer");
      }
    }
    const RunState state(threads_);
    prepared_ = false;
    for (const Preparation& preparation : program_.preparations) {
      if (role_of(preparation.tensor) == TensorRole::constant) continue;
      fill(preparation, find(values, preparation.tensor));
    }
    prepared_ = true;
  }

  void run(Lane& any_lane, std::span<const TensorBinding> inputs, const TaskKey& key,
           const OutputSink& sink) const override {
    auto& lane = dynamic_cast<CpuLane&>(any_lane);
    if (lane.owner != &program_) throw failure("a lane of another executor");
    if (!prepared_) throw failure("run before prepare() gave the parameters' values");
    bind(lane, inputs);
    const RunState state(threads_);
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
      const Step& step = program_.steps[i];
      try {
        execute(step, lane, i, key, sink);
      } catch (Error& error) {
        if (std::holds_alternative<Emit>(step.work)) throw;  // the sink's own
        throw error.with_pointer("node '" + nodes_[step.node].name + "' (" + nodes_[step.node].op +
                                 ")");
      }
    }
  }

  Statistics statistics() const override {
    Statistics statistics;
    statistics.lane_bytes = program_.arena_bytes;
    statistics.liveness_lower_bound_bytes = program_.lower_bound_bytes;
    statistics.prepared_bytes = program_.prepared_bytes;
    for (const Step& step : program_.steps) {
      if (std::holds_alternative<Emit>(step.work)) continue;
      if (step.is_reorder) ++statistics.reorders;
      const NodeName& node = nodes_[step.node];
      statistics.implementations.push_back(node.name + ": " +
                                           (step.is_reorder ? "reorder for " : "") + node.op +
                                           ", " + step.implementation);
    }
    return statistics;
  }

 private:
  struct NodeName {
    std::string name, op;
  };
  struct TensorName {
    std::string name;
    TensorRole role;
  };

  TensorRole role_of(TensorId id) const {
    if (id < 0 || index_of(id) >= tensors_.size()) {
      throw bad_input("tensor number " + std::to_string(id) + " is not in the graph");
    }
    return tensors_[index_of(id)].role;
  }

  const void* find(std::span<const TensorBinding> bindings, TensorId id) const {
    for (const TensorBinding& binding : bindings) {
      if (binding.tensor == id && binding.data != nullptr) return binding.data;
    }
    throw bad_input("no values are given for '" + tensors_[index_of(id)].name + "'");
  }

  void fill(const Preparation& preparation, const void* from) {
    const Value& value = program_.values[index_of(preparation.value)];
    const Buffer& buffer = program_.buffers[index_of(value.buffer)];
    std::byte* to = prepared_memory_.get() + buffer.offset;
    if (!preparation.reorder) {
      if (buffer.bytes > 0) std::memcpy(to, from, buffer.bytes);
      return;
    }
    const auto& arguments = preparation.reorder->arguments;
    const dnnl::memory source(arguments[0].desc, onednn::engine(), const_cast<void*>(from));
    const dnnl::memory target(arguments[1].desc, onednn::engine(), to);
    const dnnl_exec_arg_t operands[] = {{DNNL_ARG_FROM, source.get()}, {DNNL_ARG_TO, target.get()}};
    const dnnl::stream stream(onednn::engine());
    onednn::check(
        dnnl_primitive_execute(preparation.reorder->primitive.get(), stream.get(), 2, operands),
        "the layout of '" + tensors_[index_of(preparation.tensor)].name + "'");
    onednn::check(dnnl_stream_wait(stream.get()), "prepare()");
  }

  void bind(CpuLane& lane, std::span<const TensorBinding> bindings) const {
    for (const auto& [tensor, uses] : lane.inputs) {
      if (uses.empty()) continue;
      auto* data = const_cast<void*>(find(bindings, tensor));
      for (const CpuLane::InputUse& use : uses) {
        lane.pointers[use.step][use.position] = data;
        for (const dnnl_memory_t memory : use.memories) {
          onednn::check(dnnl_memory_set_data_handle(memory, data), "binding an input");
        }
      }
    }
  }

  void execute(const Step& step, CpuLane& lane, std::size_t index, const TaskKey& key,
               const OutputSink& sink) const {
    if (const auto* call = std::get_if<PrimitiveCall>(&step.work)) {
      const auto& arguments = lane.calls[index];
      onednn::check(dnnl_primitive_execute(call->primitive.get(), lane.stream.get(),
                                           static_cast<int>(arguments.size()), arguments.data()),
                    step.implementation);
    } else if (const auto* loop = std::get_if<Loop>(&step.work)) {
      (*loop)(lane.pointers[index].data(), key);
    } else {
      const Emit& emit = std::get<Emit>(step.work);
      sink(emit.output, {static_cast<const float*>(lane.pointers[index][0]), emit.count});
    }
  }

  int threads_;
  Program program_;
  std::vector<TensorName> tensors_;
  std::vector<NodeName> nodes_;
  Memory prepared_memory_;
  bool prepared_ = false;
};

}  // namespace

std::unique_ptr<Executor> make_cpu_executor(const Graph& graph, const ExecutorOptions& options) {
  return std::make_unique<CpuExecutor>(graph, options);
}

}  // namespace ddl
