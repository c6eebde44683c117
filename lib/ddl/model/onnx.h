// ONNX in and out. protobuf stays inside onnx*.cpp.
#pragma once

#include "ddl/artifact/dataset.h"
#include "ddl/model/graph.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ddl {

// What travels with a model so that raw inputs reproduce its accuracy: stored in metadata_props as
// "ddl.preprocessing" (JSON), "ddl.classes" (JSON list), "ddl.tokenizer" (JSON), "ddl.task".
struct ModelMetadata {
  std::vector<Field> inputs;  // with normalisation and categories
  std::vector<std::string> classes;
  Tokenizer tokenizer;
  LearningTask task = LearningTask::classification;
  std::map<std::string, std::string> provenance;  // "ddl.version", "ddl.parameters_hash", …
};

struct ImportedModel {
  Graph graph;             // batch axis set to 1; use with_batch
  ModelMetadata metadata;  // empty where the file has none
};

// Hostile input: sizes bounded, external data confined to the model's folder. An op or form that is
// not supported is bad_input naming the node and the nearest that is.
ImportedModel load_onnx(const std::filesystem::path& file);

struct SaveOnnxOptions {
  bool bake_preprocessing =
      false;  // inputs become the stored (raw) fields; normalisation is in the graph
};

// Writes an inference model with a symbolic batch axis "N" (opset 17), atomically. `values` holds
// current values by tensor name; tensors not named keep the graph's own.
void save_onnx(const Graph& graph,
               const std::map<std::string, std::shared_ptr<const HostTensor>>& values,
               const ModelMetadata& metadata, const std::filesystem::path& file,
               const SaveOnnxOptions& options = {});

}  // namespace ddl
