// The executor runs a graph on one device. Compiled once for one task size: primitives created,
// layouts chosen, memory planned; nothing is allocated in a run.
//
// Ownership and threads: an Executor is immutable after prepare() and is shared by lanes; each Lane
// has its own activation memory and belongs to one thread at a time. prepare() must not run beside
// run(). Bits: a run's results depend on graph, inputs, weights and options alone, not on lane,
// thread, address or repetition. Denormals are flushed to zero during a run.
// Errors: bad_input at compile time naming node and op; failure with the library's message later.
#pragma once

#include "ddl/base/dtype.h"
#include "ddl/model/graph.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

struct ExecutorOptions {
  int threads = 1;           // threads of one run
  DType dtype = DType::f32;  // of products: f32 or bf16
  // "native", "avx2", "avx512": cap of the instruction set. It holds for the whole process, and a
  // cap below what an earlier executor of the process already uses is bad_input.
  std::string isa = "native";
};

// Where a run finds a parameter, buffer or input: row-major host memory of the tensor's
// dtype/shape.
struct TensorBinding {
  TensorId tensor = kNoTensor;
  const void* data = nullptr;
};

// What random ops of one task are keyed by.
struct TaskKey {
  std::uint64_t seed = 0, step = 0;
  std::span<const std::int64_t>
      sample_ids;  // one per row of the batch axis; may be empty if no random op
};

class Lane {
 public:
  virtual ~Lane() = default;
};

// Called with each graph output as soon as it is computed, on the running thread, while it is still
// in cache: position in graph.outputs, values row-major. The span lives until the callback returns.
using OutputSink = std::function<void(std::size_t output, std::span<const float> values)>;

class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::unique_ptr<Lane> make_lane() const = 0;
  // Takes new values of parameters and buffers (all of them) into the layouts that primitives want.
  // Call after every update and before the next run.
  virtual void prepare(std::span<const TensorBinding> values) = 0;
  // Runs the graph on the lane. `inputs` binds every graph input.
  virtual void run(Lane& lane, std::span<const TensorBinding> inputs, const TaskKey& key,
                   const OutputSink& sink) const = 0;

  struct Statistics {
    std::size_t lane_bytes = 0;                  // activation memory of one lane
    std::size_t liveness_lower_bound_bytes = 0;  // largest sum of live tensors
    std::size_t prepared_bytes = 0;              // weights in device layouts
    int reorders = 0;                            // layout changes in one run
    std::vector<std::string> implementations;    // "node: op, implementation", for reports
  };
  virtual Statistics statistics() const = 0;
};

std::unique_ptr<Executor> make_cpu_executor(const Graph& graph, const ExecutorOptions& options);

// "cpu avx512_core_bf16" …: processors of one class compute the same bits. Depends on the isa cap.
std::string cpu_numeric_class(std::string_view isa);
// Library versions for the numerics block: {"oneDNN": "2.6.3"}.
std::map<std::string, std::string> compute_library_versions();
// fp32 or bf16 square matrix product for probes: FLOP/s of one run at size n on `threads` threads.
double measure_matmul_flops_per_second(std::int64_t n, DType dtype, int threads);

}  // namespace ddl
