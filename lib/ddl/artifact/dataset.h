// dataset.json: what ddl-shard writes beside the shards of a data set.
//
// Holds no time, host, absolute path or thread count: the same input gives the same bytes.
#pragma once

#include "ddl/base/dtype.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace ddl {

// What a field means decides how it reaches a model.
//   image    u8 or f32 [C,H,W]      numeric   f32 (or u8) [F]        category  i32 [K], codes
//   label    i64 [] class index     target    f32 [] or [K]          tokens    u8/u16/i32 [T+1]
//   weight   f32 [] sample weight
enum class FieldKind { image, numeric, category, label, target, tokens, weight };

// value' = (value - mean) * scale per channel (image) or column (numeric); computed on the train
// split alone. Near-constant columns have scale 1. Empty vectors: no normalisation.
struct Normalisation {
  std::vector<double> mean, scale;
  bool operator==(const Normalisation&) const = default;
};

struct Field {
  std::string name;  // "x", "c", "y", …: also the HDF5 dataset's and the model input's name
  FieldKind kind = FieldKind::numeric;
  DType dtype = DType::f32;
  Shape shape;                                       // of one sample; {} for a scalar
  std::vector<std::string> columns;                  // names, for numeric and category fields
  std::vector<std::vector<std::string>> categories;  // per category column: code -> text
  Normalisation normalisation;
  bool operator==(const Field&) const = default;
};

struct Split {
  std::string name;  // "train", "val", "test"
  std::int64_t samples = 0;
  std::vector<std::int64_t> class_counts;  // empty when there are no classes
  std::string ids_hash;  // XXH3-128 over the sorted source ids of the split's samples
  bool operator==(const Split&) const = default;
};

struct Shard {
  std::string file;  // relative to dataset.json's folder
  std::string split;
  std::int64_t samples = 0;
  std::uint64_t bytes = 0;
  std::string xxh3_128;  // of the whole file
  bool operator==(const Shard&) const = default;
};

// Text: how characters became token ids. kind "bytes" (256 ids) or "characters" (vocabulary lists
// the characters as UTF-8 strings in id order).
struct Tokenizer {
  std::string kind;
  std::vector<std::string> vocabulary;
  bool operator==(const Tokenizer&) const = default;
};

enum class LearningTask { classification, regression, next_token };

struct DatasetManifest {
  std::string name;
  LearningTask task = LearningTask::classification;
  std::vector<Field> fields;
  std::vector<std::string> classes;  // class index -> label text
  std::vector<Split> splits;
  std::vector<Shard> shards;         // in sample order within each split
  Tokenizer tokenizer;               // kind empty: none
  std::string source_format;         // "image-folder", "idx", "csv", "arff", "npy", "text"
  std::vector<std::string> sources;  // as relative names
  std::map<std::string, std::string> options;  // the options that shaped the content
  std::vector<std::string> notes;  // what the import wants remembered (constant columns, …)

  const Field& field(const std::string& field_name) const;  // throws bad_input
  const Field* find_field(FieldKind kind) const;            // nullptr when absent
  const Split* find_split(const std::string& split_name) const;
  std::int64_t samples(const std::string& split_name) const;  // 0 when absent
  bool operator==(const DatasetManifest&) const = default;
};

DatasetManifest read_dataset_manifest(const std::filesystem::path& file);
void write_dataset_manifest(const DatasetManifest& manifest, const std::filesystem::path& file);
std::string dataset_manifest_text(const DatasetManifest& manifest);
// XXH3-128 of dataset_manifest_text: names the data in plans, runs and cache keys.
std::string manifest_hash(const DatasetManifest& manifest);

std::string_view field_kind_name(FieldKind kind);
std::string_view learning_task_name(
    LearningTask task);  // "classification", "regression", "next-token"

}  // namespace ddl
