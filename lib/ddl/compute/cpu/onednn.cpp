#include "ddl/compute/cpu/onednn.h"

#include "ddl/base/clock.h"
#include "ddl/base/error.h"
#include "ddl/compute/cpu/run_state.h"
#include "ddl/compute/executor.h"

#include <algorithm>
#include <array>

#include <oneapi/dnnl/dnnl_debug.h>

namespace ddl::onednn {

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

std::string status_text(dnnl_status_t status) {
  return dnnl_status2str(status);
}

void check(dnnl_status_t status, std::string_view doing) {
  if (status == dnnl_success) return;
  throw failure("oneDNN failed in " + std::string(doing) + ": " + status_text(status));
}

namespace {

struct InstructionSet {
  dnnl::cpu_isa value;
  const char* name;
  int level;  // a higher one contains the lower
};

constexpr int kAvx2Level = 3, kAvx512Level = 4;

// Of both versions' lists, the sets that this code can meet.
constexpr std::array kInstructionSets{
    InstructionSet{dnnl::cpu_isa::sse41, "sse41", 1},
    InstructionSet{dnnl::cpu_isa::avx, "avx", 2},
    InstructionSet{dnnl::cpu_isa::avx2, "avx2", kAvx2Level},
    InstructionSet{dnnl::cpu_isa::avx2_vnni, "avx2_vnni", kAvx2Level},
    InstructionSet{dnnl::cpu_isa::avx512_core, "avx512_core", kAvx512Level},
    InstructionSet{dnnl::cpu_isa::avx512_core_vnni, "avx512_core_vnni", 5},
    InstructionSet{dnnl::cpu_isa::avx512_core_bf16, "avx512_core_bf16", 6},
    InstructionSet{dnnl::cpu_isa::avx512_core_amx, "avx512_core_amx", 7},
};

const InstructionSet* effective() {
  const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
  for (const InstructionSet& set : kInstructionSets) {
    if (set.value == isa) return &set;
  }
  return nullptr;
}

}  // namespace

void cap_instruction_set(std::string_view isa) {
  if (isa == "native") return;
  if (isa != "avx2" && isa != "avx512") {
    throw bad_input("unknown instruction set '" + std::string(isa) + "'",
                    "use native, avx2 or avx512");
  }
  const bool avx2 = isa == "avx2";
  const dnnl::cpu_isa cap = avx2 ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::avx512_core;
  if (dnnl::set_max_cpu_isa(cap) == dnnl::status::success) return;
  // Too late to set; no harm if what is in force already keeps within the cap.
  const InstructionSet* in_force = effective();
  if (in_force != nullptr && in_force->level <= (avx2 ? kAvx2Level : kAvx512Level)) return;
  throw bad_input("the instruction set cannot be capped to " + std::string(isa) +
                      ": oneDNN already works with " + effective_instruction_set(),
                  "give the cap before the first model is made, or set ONEDNN_MAX_CPU_ISA");
}

std::string effective_instruction_set() {
  const InstructionSet* set = effective();
  return set != nullptr
             ? set->name
             : "isa " + std::to_string(static_cast<unsigned>(dnnl::get_effective_cpu_isa()));
}

bool has_avx512() {
  const InstructionSet* set = effective();
  return set == nullptr || set->level >= kAvx512Level;  // sets unknown to us are newer ones
}

std::string version_text() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

MemoryDesc row_major(const Dims& dims, DataType type) {
  Dims strides(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;) {
    strides[axis - 1] = strides[axis] * std::max<dnnl::memory::dim>(dims[axis], 1);
  }
  return {dims, type, strides};
}

MemoryDesc strided(const Dims& dims, const Dims& strides, DataType type) {
  return {dims, type, strides};
}

MemoryDesc any(const Dims& dims, DataType type) {
  return {dims, type, dnnl::memory::format_tag::any};
}

const dnnl::primitive_attr& attributes() {
  static const dnnl::primitive_attr user_scratchpad = [] {
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return attr;
  }();
  return user_scratchpad;
}

namespace {
// oneDNN counts the gaps of a dilation.
Dims gaps(const Window& window) {
  Dims result = window.dilations;
  for (auto& dilation : result) dilation -= 1;
  return result;
}
constexpr auto kForward = dnnl::prop_kind::forward_training;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;
const auto kScaleAndShift =
    dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
}  // namespace

#if DNNL_VERSION_MAJOR < 3

Dims dims_of(const MemoryDesc& desc) {
  return desc.dims();
}
DataType type_of(const MemoryDesc& desc) {
  return desc.data_type();
}

ConvolutionForward convolution_forward(const MemoryDesc& x, const MemoryDesc& w,
                                       const MemoryDesc& b, const MemoryDesc& y,
                                       const Window& window) {
  return {
      {kForward, kDirect, x, w, b, y, window.strides, gaps(window), window.before, window.after},
      attributes(),
      engine()};
}

ConvolutionBackwardData convolution_backward_data(const MemoryDesc& dx, const MemoryDesc& w,
                                                  const MemoryDesc& dy, const Window& window,
                                                  const ConvolutionForward& hint) {
  return {{kDirect, dx, w, dy, window.strides, gaps(window), window.before, window.after},
          attributes(),
          engine(),
          hint};
}

ConvolutionBackwardWeights convolution_backward_weights(const MemoryDesc& x, const MemoryDesc& dw,
                                                        const MemoryDesc& db, const MemoryDesc& dy,
                                                        const Window& window,
                                                        const ConvolutionForward& hint) {
  return {{kDirect, x, dw, db, dy, window.strides, gaps(window), window.before, window.after},
          attributes(),
          engine(),
          hint};
}

PoolingForward pooling_forward(bool training, dnnl::algorithm algorithm, const MemoryDesc& x,
                               const MemoryDesc& y, const Dims& kernel, const Window& window) {
  return {{training ? kForward : dnnl::prop_kind::forward_inference, algorithm, x, y,
           window.strides, kernel, window.before, window.after},
          attributes(),
          engine()};
}

PoolingBackward pooling_backward(dnnl::algorithm algorithm, const MemoryDesc& dx,
                                 const MemoryDesc& dy, const Dims& kernel, const Window& window,
                                 const PoolingForward& hint) {
  return {{algorithm, dx, dy, window.strides, kernel, window.before, window.after},
          attributes(),
          engine(),
          hint};
}

BatchNormForward batch_norm_forward(bool training, const MemoryDesc& x, float epsilon) {
  const auto flags =
      training ? kScaleAndShift : kScaleAndShift | dnnl::normalization_flags::use_global_stats;
  return {{training ? kForward : dnnl::prop_kind::forward_inference, x, epsilon, flags},
          attributes(),
          engine()};
}

BatchNormBackward batch_norm_backward(const MemoryDesc& dy, const MemoryDesc& x, float epsilon,
                                      const BatchNormForward& hint) {
  return {
      {dnnl::prop_kind::backward, dy, x, epsilon, kScaleAndShift}, attributes(), engine(), hint};
}

Matmul matmul(const MemoryDesc& a, const MemoryDesc& b, const MemoryDesc& bias,
              const MemoryDesc& y) {
  return {{a, b, bias, y}, attributes(), engine()};
}

#else

Dims dims_of(const MemoryDesc& desc) {
  return desc.get_dims();
}
DataType type_of(const MemoryDesc& desc) {
  return desc.get_data_type();
}

ConvolutionForward convolution_forward(const MemoryDesc& x, const MemoryDesc& w,
                                       const MemoryDesc& b, const MemoryDesc& y,
                                       const Window& window) {
  return {engine(),     kForward,      kDirect,      x,           w, b, y, window.strides,
          gaps(window), window.before, window.after, attributes()};
}

ConvolutionBackwardData convolution_backward_data(const MemoryDesc& dx, const MemoryDesc& w,
                                                  const MemoryDesc& dy, const Window& window,
                                                  const ConvolutionForward& hint) {
  return {engine(),     kDirect,       dx,           w,    dy,          window.strides,
          gaps(window), window.before, window.after, hint, attributes()};
}

ConvolutionBackwardWeights convolution_backward_weights(const MemoryDesc& x, const MemoryDesc& dw,
                                                        const MemoryDesc& db, const MemoryDesc& dy,
                                                        const Window& window,
                                                        const ConvolutionForward& hint) {
  return {engine(),      kDirect,      x,    dw,          db, dy, window.strides, gaps(window),
          window.before, window.after, hint, attributes()};
}

PoolingForward pooling_forward(bool training, dnnl::algorithm algorithm, const MemoryDesc& x,
                               const MemoryDesc& y, const Dims& kernel, const Window& window) {
  return {engine(),
          training ? kForward : dnnl::prop_kind::forward_inference,
          algorithm,
          x,
          y,
          window.strides,
          kernel,
          gaps(window),
          window.before,
          window.after,
          attributes()};
}

PoolingBackward pooling_backward(dnnl::algorithm algorithm, const MemoryDesc& dx,
                                 const MemoryDesc& dy, const Dims& kernel, const Window& window,
                                 const PoolingForward& hint) {
  return {engine(),     algorithm,     dx,           dy,   window.strides, kernel,
          gaps(window), window.before, window.after, hint, attributes()};
}

BatchNormForward batch_norm_forward(bool training, const MemoryDesc& x, float epsilon) {
  const auto flags =
      training ? kScaleAndShift : kScaleAndShift | dnnl::normalization_flags::use_global_stats;
  return {
      engine(),    training ? kForward : dnnl::prop_kind::forward_inference, x, x, epsilon, flags,
      attributes()};
}

BatchNormBackward batch_norm_backward(const MemoryDesc& dy, const MemoryDesc& x, float epsilon,
                                      const BatchNormForward& hint) {
  return {engine(),    dnnl::prop_kind::backward, dy, dy, x, epsilon, kScaleAndShift, hint,
          attributes()};
}

Matmul matmul(const MemoryDesc& a, const MemoryDesc& b, const MemoryDesc& bias,
              const MemoryDesc& y) {
  return {engine(), a, b, bias, y, attributes()};
}

#endif

}  // namespace ddl::onednn

namespace ddl {

std::string cpu_numeric_class(std::string_view isa) {
  onednn::cap_instruction_set(isa);
  return "cpu " + onednn::effective_instruction_set();
}

std::map<std::string, std::string> compute_library_versions() {
  return {{"oneDNN", onednn::version_text()}};
}

double measure_matmul_flops_per_second(std::int64_t n, DType dtype, int threads) {
  if (n < 1 || n > 65536) throw bad_input("a matrix product of size " + std::to_string(n));
  if (dtype != DType::f32 && dtype != DType::bf16) {
    throw bad_input("matrix products are measured in float32 or bfloat16, not " +
                    std::string(dtype_name(dtype)));
  }
  const RunState state(threads);
  const auto type = dtype == DType::f32 ? onednn::DataType::f32 : onednn::DataType::bf16;
  try {
    const onednn::MemoryDesc operand = onednn::row_major({n, n}, type);
    const auto desc =
        onednn::matmul(operand, onednn::any({n, n}, type), onednn::MemoryDesc(), operand);
    const auto filled = [](const onednn::MemoryDesc& shape) {
      dnnl::memory memory(shape, onednn::engine());
      // Bytes of a normal number in both types: a product of zeros or denormals is no measure.
      auto* bytes = static_cast<unsigned char*>(memory.get_data_handle());
      std::fill(bytes, bytes + shape.get_size(), static_cast<unsigned char>(0x3c));
      return memory;
    };
    const dnnl::memory a = filled(desc.src_desc()), b = filled(desc.weights_desc()),
                       y = filled(desc.dst_desc());
    const dnnl::memory scratchpad(desc.scratchpad_desc(), onednn::engine());
    dnnl::stream stream(onednn::engine());
    const dnnl::matmul product(desc);
    const auto run = [&] {
      product.execute(stream, {{DNNL_ARG_SRC, a},
                               {DNNL_ARG_WEIGHTS, b},
                               {DNNL_ARG_DST, y},
                               {DNNL_ARG_SCRATCHPAD, scratchpad}});
      stream.wait();
    };
    run();
    const Stopwatch watch;
    run();
    const double size = static_cast<double>(n);
    return 2 * size * size * size / std::max(watch.seconds(), 1e-9);
  } catch (const dnnl::error& error) {
    throw failure("oneDNN cannot multiply matrices of " + std::string(dtype_name(dtype)) + ": " +
                  onednn::status_text(error.status));
  }
}

}  // namespace ddl
