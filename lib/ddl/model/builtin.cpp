#include "ddl/model/builtin.h"

#include "ddl/base/error.h"
#include "ddl/model/builtin/builder.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace ddl {
namespace {

using Build = Graph (*)(const builtin::Options&, const ModelInterface&, builtin::ModelBuilder);

struct Entry {
  BuiltinModel model;
  Build build;
};

const std::vector<Entry>& entries() {
  static const BuiltinOption kHidden{"hidden", "128,64", "units of the hidden layers"};
  static const BuiltinOption kActivation{"activation", "relu", "relu, tanh, sigmoid or gelu"};
  static const BuiltinOption kDropout{"dropout", "0", "share of units left out while training"};
  static const std::vector<Entry> list{
      {{"mlp",
        "fully connected layers over images or numeric columns",
        {kHidden, kActivation, kDropout}},
       builtin::build_mlp},
      {{"lenet", "LeNet-5 for small images", {kActivation}}, builtin::build_lenet},
      {{"resnet18",
        "ResNet-18 with a 3x3 stem, for small images",
        {{"width", "64", "channels of the first stage"}}},
       builtin::build_resnet18},
      {{"gpt",
        "decoder-only transformer over tokens",
        {{"layers", "4", "blocks"},
         {"heads", "4", "attention heads"},
         {"width", "128", "channels"},
         kDropout,
         {"tied", "true", "the head shares the token table's weights"}}},
       builtin::build_gpt},
      {{"tabular",
        "embeddings of categories beside numeric columns, then fully connected layers",
        {kHidden,
         {"embedding", "auto", "width of the embeddings; auto grows with the categories"},
         kActivation,
         kDropout}},
       builtin::build_tabular}};
  return list;
}

std::string remedy_for(std::string_view word, const std::vector<std::string_view>& names) {
  std::string nearest = nearest_name(word, names.data(), names.data() + names.size());
  for (const std::string_view name : names) {
    if (!word.empty() && name.starts_with(word)) nearest = name;  // "resnet" is resnet18, not lenet
  }
  if (!nearest.empty()) return "did you mean " + nearest + "?";
  std::string all;
  for (const std::string_view name : names) all += (all.empty() ? "" : ", ") + std::string(name);
  return all.empty() ? "it takes none" : "known are " + all;
}

}  // namespace

const std::vector<BuiltinModel>& builtin_models() {
  static const std::vector<BuiltinModel> models = [] {
    std::vector<BuiltinModel> list;
    for (const Entry& entry : entries()) list.push_back(entry.model);
    return list;
  }();
  return models;
}

bool is_builtin_model(std::string_view name) {
  return std::any_of(entries().begin(), entries().end(),
                     [name](const Entry& entry) { return entry.model.name == name; });
}

ModelInterface model_interface(const DatasetManifest& manifest) {
  ModelInterface interface;
  for (const Field& field : manifest.fields) {
    const bool input = field.kind == FieldKind::image || field.kind == FieldKind::numeric ||
                       field.kind == FieldKind::category || field.kind == FieldKind::tokens;
    if (!input) continue;
    interface.inputs.push_back(field);
    Shape& shape = interface.inputs.back().shape;
    // Stored with one token more: inputs and labels are the same tokens, one apart.
    if (field.kind == FieldKind::tokens && !shape.empty()) shape.back() -= 1;
  }
  if (manifest.task == LearningTask::next_token) {
    interface.outputs = manifest.tokenizer.kind == "bytes"
                            ? 256
                            : static_cast<std::int64_t>(manifest.tokenizer.vocabulary.size());
  } else if (const Field* target = manifest.find_field(FieldKind::target);
             target != nullptr && manifest.find_field(FieldKind::label) == nullptr) {
    interface.outputs = element_count(target->shape);
  } else {
    interface.outputs = static_cast<std::int64_t>(manifest.classes.size());
  }
  if (interface.outputs < 1) {
    throw bad_input("the data set '" + manifest.name + "' has no classes, targets or vocabulary",
                    "build it with a label (ddl-shard build --label)");
  }
  return interface;
}

Graph build_model(std::string_view name, const std::map<std::string, std::string>& options,
                  const ModelInterface& interface, std::int64_t samples, std::uint64_t seed) {
  const auto entry =
      std::find_if(entries().begin(), entries().end(),
                   [name](const Entry& candidate) { return candidate.model.name == name; });
  if (entry == entries().end()) {
    std::vector<std::string_view> names;
    for (const Entry& known : entries()) names.emplace_back(known.model.name);
    throw bad_input("there is no built-in model '" + std::string(name) + "'",
                    remedy_for(name, names));
  }
  std::map<std::string, std::string> values;
  std::vector<std::string_view> names;
  for (const BuiltinOption& option : entry->model.options) {
    values[option.name] = option.default_value;
    names.emplace_back(option.name);
  }
  for (const auto& [key, value] : options) {
    if (!values.contains(key)) {
      throw bad_input("model " + entry->model.name + " has no option '" + key + "'",
                      remedy_for(key, names));
    }
    values[key] = value;
  }
  if (samples < 1) throw bad_input("a batch of " + std::to_string(samples) + " samples");
  if (interface.outputs < 1) throw bad_input("a model needs at least one output");
  return entry->build(builtin::Options(std::move(values)), interface,
                      builtin::ModelBuilder(entry->model.name, samples, seed));
}

}  // namespace ddl
