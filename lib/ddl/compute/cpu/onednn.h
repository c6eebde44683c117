// oneDNN behind one header: what differs between its versions 2 and 3, the process's one engine,
// and its errors turned into ddl errors with the library's own message.
//
// Included by compute/cpu alone. The engine and primitives are immutable and shared by threads.
// Instruction set: oneDNN fixes it for the whole process when it is first asked for a kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <oneapi/dnnl/dnnl.hpp>

namespace ddl::onednn {

using MemoryDesc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using DataType = dnnl::memory::data_type;

// The CPU engine of this process.
const dnnl::engine& engine();

// Caps the instruction set: "native" (no cap), "avx2" or "avx512". The cap holds for the process
// and must come before its first use of oneDNN; bad_input when a lower one is asked for later.
void cap_instruction_set(std::string_view isa);
std::string effective_instruction_set();
bool has_avx512();
std::string version_text();

// Throws failure with the library's text unless the status is success.
void check(dnnl_status_t status, std::string_view doing);
std::string status_text(dnnl_status_t status);

MemoryDesc row_major(const Dims& dims, DataType type);
MemoryDesc strided(const Dims& dims, const Dims& strides, DataType type);
MemoryDesc any(const Dims& dims, DataType type);
Dims dims_of(const MemoryDesc& desc);
DataType type_of(const MemoryDesc& desc);

// Attributes of every primitive: scratchpads belong to the caller's memory plan.
const dnnl::primitive_attr& attributes();

struct Window {
  Dims strides, dilations, before, after;  // dilations: 1 is dense
};

using ConvolutionForward = dnnl::convolution_forward::primitive_desc;
using ConvolutionBackwardData = dnnl::convolution_backward_data::primitive_desc;
using ConvolutionBackwardWeights = dnnl::convolution_backward_weights::primitive_desc;
using PoolingForward = dnnl::pooling_forward::primitive_desc;
using PoolingBackward = dnnl::pooling_backward::primitive_desc;
using BatchNormForward = dnnl::batch_normalization_forward::primitive_desc;
using BatchNormBackward = dnnl::batch_normalization_backward::primitive_desc;
using Matmul = dnnl::matmul::primitive_desc;

// An empty descriptor (MemoryDesc()) as bias: none.
ConvolutionForward convolution_forward(const MemoryDesc& x, const MemoryDesc& w,
                                       const MemoryDesc& b, const MemoryDesc& y,
                                       const Window& window);
ConvolutionBackwardData convolution_backward_data(const MemoryDesc& dx, const MemoryDesc& w,
                                                  const MemoryDesc& dy, const Window& window,
                                                  const ConvolutionForward& hint);
ConvolutionBackwardWeights convolution_backward_weights(const MemoryDesc& x, const MemoryDesc& dw,
                                                        const MemoryDesc& db, const MemoryDesc& dy,
                                                        const Window& window,
                                                        const ConvolutionForward& hint);
PoolingForward pooling_forward(bool training, dnnl::algorithm algorithm, const MemoryDesc& x,
                               const MemoryDesc& y, const Dims& kernel, const Window& window);
PoolingBackward pooling_backward(dnnl::algorithm algorithm, const MemoryDesc& dx,
                                 const MemoryDesc& dy, const Dims& kernel, const Window& window,
                                 const PoolingForward& hint);
// Scale and shift are separate operands. Inference takes the statistics as inputs.
BatchNormForward batch_norm_forward(bool training, const MemoryDesc& x, float epsilon);
BatchNormBackward batch_norm_backward(const MemoryDesc& dy, const MemoryDesc& x, float epsilon,
                                      const BatchNormForward& hint);
Matmul matmul(const MemoryDesc& a, const MemoryDesc& b, const MemoryDesc& bias,
              const MemoryDesc& y);

}  // namespace ddl::onednn
