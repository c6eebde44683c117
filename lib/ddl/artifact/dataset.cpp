#include "ddl/artifact/dataset.h"

#include "ddl/artifact/dataset_rules.h"
#include "ddl/artifact/json.h"
#include "ddl/base/checksum.h"
#include "ddl/base/file.h"

#include <algorithm>
#include <array>

namespace ddl {
namespace artifact {
namespace {

constexpr std::string_view kFormat = "ddl-dataset";
// In the order of FieldKind and LearningTask.
constexpr std::array<std::string_view, 7> kKinds = {"image",  "numeric", "category", "label",
                                                    "target", "tokens",  "weight"};
constexpr std::array<std::string_view, 3> kTasks = {"classification", "regression", "next-token"};

template <class Enum, std::size_t N>
Enum parse_name(const std::array<std::string_view, N>& names, std::string_view name) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

Json field_json(const Field& field) {
  Json out = {{"name", field.name},
              {"kind", field_kind_name(field.kind)},
              {"dtype", dtype_name(field.dtype)},
              {"shape", field.shape}};
  if (!field.columns.empty()) out["columns"] = field.columns;
  if (!field.categories.empty()) out["categories"] = field.categories;
  if (field.normalisation != Normalisation())
    out["normalisation"] = {{"mean", field.normalisation.mean},
                            {"scale", field.normalisation.scale}};
  return out;
}

Field read_field(const Json& json) {
  Field out;
  read(json, "name", out.name);
  out.kind = parse_name<FieldKind>(kKinds, json.at("kind").get_ref<const std::string&>());
  out.dtype = parse_dtype(json.at("dtype").get_ref<const std::string&>());
  read(json, "shape", out.shape);
  read(json, "columns", out.columns);
  read(json, "categories", out.categories);
  if (const auto found = json.find("normalisation"); found != json.end()) {
    read(*found, "mean", out.normalisation.mean);
    read(*found, "scale", out.normalisation.scale);
  }
  return out;
}

Json split_json(const Split& split) {
  Json out = {{"name", split.name}, {"samples", split.samples}};
  if (!split.class_counts.empty()) out["class_counts"] = split.class_counts;
  out["ids_hash"] = split.ids_hash;
  return out;
}

Split read_split(const Json& json) {
  Split out;
  read(json, "name", out.name);
  read(json, "samples", out.samples);
  read(json, "class_counts", out.class_counts);
  read(json, "ids_hash", out.ids_hash);
  return out;
}

Json shard_json(const Shard& shard) {
  return {{"file", shard.file},
          {"split", shard.split},
          {"samples", shard.samples},
          {"bytes", shard.bytes},
          {"xxh3_128", shard.xxh3_128}};
}

Shard read_shard(const Json& json) {
  Shard out;
  read(json, "file", out.file);
  read(json, "split", out.split);
  read(json, "samples", out.samples);
  read(json, "bytes", out.bytes);
  read(json, "xxh3_128", out.xxh3_128);
  return out;
}

Json manifest_json(const DatasetManifest& manifest) {
  Json out = new_document(kFormat);
  out["name"] = manifest.name;
  out["task"] = learning_task_name(manifest.task);
  Json& fields = out["fields"] = Json::array();
  for (const Field& field : manifest.fields) fields.push_back(field_json(field));
  if (!manifest.classes.empty()) out["classes"] = manifest.classes;
  Json& splits = out["splits"] = Json::array();
  for (const Split& split : manifest.splits) splits.push_back(split_json(split));
  if (!manifest.tokenizer.kind.empty()) {
    out["tokenizer"] = {{"kind", manifest.tokenizer.kind}};
    if (!manifest.tokenizer.vocabulary.empty())
      out["tokenizer"]["vocabulary"] = manifest.tokenizer.vocabulary;
  }
  out["source_format"] = manifest.source_format;
  out["sources"] = manifest.sources;
  out["options"] = manifest.options;
  out["notes"] = manifest.notes;
  Json& shards = out["shards"] = Json::array();
  for (const Shard& shard : manifest.shards) shards.push_back(shard_json(shard));
  return out;
}

}  // namespace
}  // namespace artifact

std::string_view field_kind_name(FieldKind kind) {
  return artifact::kKinds.at(static_cast<std::size_t>(kind));
}

std::string_view learning_task_name(LearningTask task) {
  return artifact::kTasks.at(static_cast<std::size_t>(task));
}

const Field& DatasetManifest::field(const std::string& field_name) const {
  std::vector<std::string_view> names;
  for (const Field& one : fields) {
    if (one.name == field_name) return one;
    names.push_back(one.name);
  }
  const std::string near = nearest_name(field_name, names.data(), names.data() + names.size());
  throw bad_input("the data set \"" + name + "\" has no field \"" + field_name + "\"",
                  near.empty() ? "" : "did you mean \"" + near + "\"?");
}

const Field* DatasetManifest::find_field(FieldKind kind) const {
  for (const Field& one : fields)
    if (one.kind == kind) return &one;
  return nullptr;
}

const Split* DatasetManifest::find_split(const std::string& split_name) const {
  for (const Split& one : splits)
    if (one.name == split_name) return &one;
  return nullptr;
}

std::int64_t DatasetManifest::samples(const std::string& split_name) const {
  const Split* split = find_split(split_name);
  return split == nullptr ? 0 : split->samples;
}

DatasetManifest read_dataset_manifest(const std::filesystem::path& file) {
  using artifact::Json, artifact::read;
  const Json json = artifact::read_document(artifact::kFormat, file);
  DatasetManifest out;
  read(json, "name", out.name);
  out.task = artifact::parse_name<LearningTask>(artifact::kTasks,
                                                json.at("task").get_ref<const std::string&>());
  for (const Json& field : json.at("fields")) out.fields.push_back(artifact::read_field(field));
  read(json, "classes", out.classes);
  for (const Json& split : json.at("splits")) out.splits.push_back(artifact::read_split(split));
  for (const Json& shard : json.at("shards")) out.shards.push_back(artifact::read_shard(shard));
  if (const auto found = json.find("tokenizer"); found != json.end()) {
    read(*found, "kind", out.tokenizer.kind);
    read(*found, "vocabulary", out.tokenizer.vocabulary);
  }
  read(json, "source_format", out.source_format);
  read(json, "sources", out.sources);
  read(json, "options", out.options);
  read(json, "notes", out.notes);
  artifact::check_dataset_rules(out, file);
  return out;
}

std::string dataset_manifest_text(const DatasetManifest& manifest) {
  return artifact::document_text(artifact::kFormat, artifact::manifest_json(manifest),
                                 "dataset.json");
}

// The rules are checked when writing too: a manifest that cannot be read must not come to be.
void write_dataset_manifest(const DatasetManifest& manifest, const std::filesystem::path& file) {
  artifact::check_dataset_rules(manifest, file);
  write_text_atomically(
      file, artifact::document_text(artifact::kFormat, artifact::manifest_json(manifest), file));
}

std::string manifest_hash(const DatasetManifest& manifest) {
  return xxh3_128_hex(dataset_manifest_text(manifest));
}

}  // namespace ddl
