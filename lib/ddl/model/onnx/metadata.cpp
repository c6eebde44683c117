#include "ddl/model/onnx/metadata.h"

#include "ddl/base/error.h"

#include <array>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ddl::onnx_io {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPreprocessing = "ddl.preprocessing";
constexpr const char* kClasses = "ddl.classes";
constexpr const char* kTokenizer = "ddl.tokenizer";
constexpr const char* kTask = "ddl.task";

Json field_json(const Field& field) {
  Json json{{"name", field.name},
            {"kind", field_kind_name(field.kind)},
            {"dtype", dtype_name(field.dtype)},
            {"shape", field.shape}};
  if (!field.columns.empty()) json["columns"] = field.columns;
  if (!field.categories.empty()) json["categories"] = field.categories;
  if (!field.normalisation.mean.empty() || !field.normalisation.scale.empty()) {
    json["normalisation"] = {{"mean", field.normalisation.mean},
                             {"scale", field.normalisation.scale}};
  }
  return json;
}

FieldKind parse_kind(const std::string& name) {
  for (const FieldKind kind :
       {FieldKind::image, FieldKind::numeric, FieldKind::category, FieldKind::label,
        FieldKind::target, FieldKind::tokens, FieldKind::weight}) {
    if (field_kind_name(kind) == name) return kind;
  }
  throw bad_input("field kind '" + name + "' is not known");
}

Field field_from(const Json& json) {
  Field field;
  field.name = json.at("name").get<std::string>();
  field.kind = parse_kind(json.at("kind").get<std::string>());
  field.dtype = parse_dtype(json.at("dtype").get<std::string>());
  field.shape = json.at("shape").get<Shape>();
  element_count(field.shape);
  if (json.contains("columns")) json["columns"].get_to(field.columns);
  if (json.contains("categories")) json["categories"].get_to(field.categories);
  if (json.contains("normalisation")) {
    json["normalisation"].at("mean").get_to(field.normalisation.mean);
    json["normalisation"].at("scale").get_to(field.normalisation.scale);
  }
  return field;
}

LearningTask parse_task(const std::string& name) {
  for (const LearningTask task :
       {LearningTask::classification, LearningTask::regression, LearningTask::next_token}) {
    if (learning_task_name(task) == name) return task;
  }
  throw bad_input("task '" + name + "' is not known");
}

void put(onnx::ModelProto& model, const std::string& key, const std::string& value) {
  auto* entry = model.add_metadata_props();
  entry->set_key(key);
  entry->set_value(value);
}

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

void write_metadata(onnx::ModelProto& model, const ModelMetadata& metadata) {
  if (!metadata.inputs.empty()) {
    Json inputs = Json::array();
    for (const Field& field : metadata.inputs) inputs.push_back(field_json(field));
    put(model, kPreprocessing, dumped({{"inputs", inputs}}));
  }
  if (!metadata.classes.empty()) put(model, kClasses, dumped(metadata.classes));
  if (!metadata.tokenizer.kind.empty()) {
    put(model, kTokenizer,
        dumped({{"kind", metadata.tokenizer.kind}, {"vocabulary", metadata.tokenizer.vocabulary}}));
  }
  put(model, kTask, std::string(learning_task_name(metadata.task)));
  static const std::set<std::string_view> kReserved{kPreprocessing, kClasses, kTokenizer, kTask,
                                                    kBakedKey};
  for (const auto& [key, value] : metadata.provenance) {
    if (!kReserved.contains(key)) put(model, key, value);
  }
}

ModelMetadata read_metadata(const onnx::ModelProto& model) {
  ModelMetadata metadata;
  for (const auto& entry : model.metadata_props()) {
    const std::string& key = entry.key();
    try {
      if (key == kPreprocessing) {
        const Json json = Json::parse(entry.value());
        for (const Json& field : json.at("inputs")) metadata.inputs.push_back(field_from(field));
      } else if (key == kClasses) {
        Json::parse(entry.value()).get_to(metadata.classes);
      } else if (key == kTokenizer) {
        const Json json = Json::parse(entry.value());
        json.at("kind").get_to(metadata.tokenizer.kind);
        json.at("vocabulary").get_to(metadata.tokenizer.vocabulary);
      } else if (key == kTask) {
        metadata.task = parse_task(entry.value());
      } else if (key != kBakedKey) {
        metadata.provenance[key] = entry.value();
      }
    } catch (const Json::exception&) {
      throw bad_input("is not what ddl writes there", "remove the property, or export again")
          .with_pointer("metadata " + key);
    } catch (Error& error) {
      throw error.with_pointer("metadata " + key);
    }
  }
  return metadata;
}

}  // namespace ddl::onnx_io
