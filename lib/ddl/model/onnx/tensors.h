// ONNX's tensors to host tensors and back.
//
// ONNX stores values as raw little-endian bytes, as lists of one of a few protobuf types, or in a
// file beside the model. Models compute in float32 here: float16, bfloat16 and double values are
// converted to it. Errors: bad_input naming the tensor.
#pragma once

#include "ddl/model/graph.h"
#include "ddl/model/onnx/proto.h"

#include <filesystem>
#include <memory>
#include <string>

namespace ddl::onnx_io {

// Throws for a type that ddl has no use for. Floating types give f32.
DType dtype_of(int onnx_type, const std::string& what);
int onnx_type_of(DType dtype);

// `folder` holds the model; external data must lie inside it.
std::shared_ptr<HostTensor> read_tensor(const onnx::TensorProto& proto,
                                        const std::filesystem::path& folder);

// `role` goes into the doc_string, so that a file read back has the same roles: "ddl:parameter".
void write_tensor(onnx::TensorProto& proto, const std::string& name, const HostTensor& value,
                  const std::string& role);

// Throws when a name has characters that would break a one-line message or a table.
void require_printable(const std::string& name, const std::string& what);

// The double whose shortest text is that of the float: 1e-5f gives 1e-5.
double widened(float value);

}  // namespace ddl::onnx_io
