// What travels with a model in metadata_props (ModelMetadata, onnx.h).
#pragma once

#include "ddl/model/onnx.h"
#include "ddl/model/onnx/proto.h"

namespace ddl::onnx_io {

// Set when the file's first nodes are the preprocessing (SaveOnnxOptions::bake_preprocessing).
inline constexpr const char* kBakedKey = "ddl.baked_preprocessing";
// Names of the nodes and values of baked preprocessing begin with this.
inline constexpr const char* kBakedPrefix = "ddl.preprocess/";

void write_metadata(onnx::ModelProto& model, const ModelMetadata& metadata);
// Throws bad_input with the property as pointer.
ModelMetadata read_metadata(const onnx::ModelProto& model);

}  // namespace ddl::onnx_io
