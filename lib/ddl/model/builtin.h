// Built-in models: mlp, lenet, resnet18 (small images), gpt (small), tabular.
//
// Each is made for a data set's fields: input names, shapes and class count come from the manifest.
// Initial parameters are drawn per parameter name from (seed, "init", hash of the name), so that
// they do not depend on order or worker.
#pragma once

#include "ddl/artifact/dataset.h"
#include "ddl/model/graph.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

struct BuiltinOption {
  std::string name, default_value, help;
};
struct BuiltinModel {
  std::string name, description;
  std::vector<BuiltinOption> options;
};

const std::vector<BuiltinModel>& builtin_models();
bool is_builtin_model(std::string_view name);

// Shapes a model needs when there is no data set at hand (ddl-model); also taken from a manifest.
struct ModelInterface {
  std::vector<Field> inputs;  // image, numeric, category or tokens fields
  std::int64_t outputs = 10;  // classes, targets or vocabulary
};
ModelInterface model_interface(const DatasetManifest& manifest);

// Graph in inference form with batch `samples`, weights initialised. Unknown model or option:
// bad_input naming the nearest. A model that cannot take the fields says what it needs.
Graph build_model(std::string_view name, const std::map<std::string, std::string>& options,
                  const ModelInterface& interface, std::int64_t samples, std::uint64_t seed);

}  // namespace ddl
