// A compiled graph: buffers, values in them, and the steps of one run.
//
// A value is a tensor in one layout at one place. Several values may share a buffer (views), and a
// tensor may have several values (row-major, blocked, bfloat16). Immutable once compiled.
#pragma once

#include "ddl/base/dtype.h"
#include "ddl/compute/cpu/onednn.h"
#include "ddl/compute/executor.h"
#include "ddl/model/graph.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ddl::cpu {

using BufferId = std::int32_t;
using ValueId = std::int32_t;

enum class Storage {
  arena,     // lane memory, placed by the memory plan
  input,     // the caller's memory, known at run time
  prepared,  // weights and constants, shared by lanes
};

struct Buffer {
  Storage storage = Storage::arena;
  std::size_t bytes = 0;
  std::size_t offset = 0;       // in the arena or in the prepared memory
  TensorId tensor = kNoTensor;  // Storage::input
};

struct Value {
  BufferId buffer = -1;
  DType dtype = DType::f32;
  Shape shape;
  std::optional<onednn::MemoryDesc> layout;  // empty: row-major
};

// One operand of a primitive: DNNL_ARG_*, position in the step's operands, and how it is seen.
struct PrimitiveArgument {
  int role = 0;
  std::size_t operand = 0;
  onednn::MemoryDesc desc;
};
struct PrimitiveCall {
  dnnl::primitive primitive;
  std::vector<PrimitiveArgument> arguments;
};
// A hand-written loop over the operands' memory, in the order they were given.
using Loop = std::function<void(void* const* operands, const TaskKey& key)>;
// Hands operand 0 to the sink.
struct Emit {
  std::size_t output = 0, count = 0;
};

struct Step {
  std::size_t node = 0;
  std::string implementation;
  std::vector<ValueId> operands;
  std::variant<PrimitiveCall, Loop, Emit> work;
  bool is_reorder = false;
  // Operand `in_place_to` may take over the memory of `in_place_from` when that is read no more.
  int in_place_from = -1, in_place_to = -1;
};

// Fills a prepared value from a tensor's row-major host values.
struct Preparation {
  TensorId tensor = kNoTensor;
  ValueId value = -1;
  std::optional<PrimitiveCall> reorder;  // operands: source, destination; empty: a plain copy
};

struct Program {
  std::vector<Buffer> buffers;
  std::vector<Value> values;
  std::vector<Step> steps;
  std::vector<Preparation> preparations;
  std::size_t arena_bytes = 0, lower_bound_bytes = 0, prepared_bytes = 0;
};

Program compile(const Graph& graph, const ExecutorOptions& options);

}  // namespace ddl::cpu
