// What ddl-model does: makes the model that a command line asks for, prints and writes it.
#pragma once

#include "ddl/model/cost.h"
#include "ddl/model/graph.h"
#include "ddl/model/onnx.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ddl {

// A model and the data it is for: a data set, or shapes in its place. Fields not given (empty or 0)
// take what the model is usually shown with.
struct ModelRequest {
  std::string model;              // a built-in name or an .onnx file
  std::filesystem::path dataset;  // folder or dataset.json
  std::string image;              // "3x32x32"
  std::int64_t features = 0;      // numeric columns
  std::string categories;         // "4,10,3": values of each category column
  std::int64_t classes = 0;
  std::int64_t vocabulary = 0, context = 0;
  std::vector<std::string> settings;  // "hidden=64,32"
  std::uint64_t seed = 1;
};

struct RequestedModel {
  Graph graph;  // for one sample
  ModelMetadata metadata;
  LossKind loss = LossKind::softmax_cross_entropy;
  std::string note;  // what was assumed, for people; empty when all was given
};

// bad_input for contradicting or missing pieces.
RequestedModel requested_model(const ModelRequest& request);

// "name=value" pairs; bad_input without "=" or for a name given twice.
std::map<std::string, std::string> parse_settings(const std::vector<std::string>& settings);

std::string model_list_text();
std::string model_list_json();
// A line per node, then the totals.
std::string model_text(const RequestedModel& model);
std::string model_json(const RequestedModel& model);

// Writes the request's model; an existing file is kept unless `force`. Returns its note.
std::string write_requested_model(const ModelRequest& request, const std::filesystem::path& file,
                                  bool bake_preprocessing, bool force);

}  // namespace ddl
