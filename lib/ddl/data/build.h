// ddl-shard build / info / verify: raw data in, checked HDF5 shards out (DESIGN section 3).
#pragma once

#include "ddl/artifact/dataset.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <vector>

namespace ddl {

struct BuildOptions {
  std::vector<std::filesystem::path> sources;  // one folder or file; IDX and .npy: data then labels
  std::filesystem::path output;                // folder of the data set
  std::string format = "auto";                 // auto image-folder idx csv arff npy text
  std::string name;                            // default: the source's base name
  // CSV and ARFF
  std::string label;   // column by name, 1-based number, "first" or "last"; "" for none
  bool header = true;  // --no-header
  int skip_lines = 0;
  char delimiter = ',';
  std::vector<std::string> categorical;  // columns forced to be categories; also any text column
  std::vector<std::string> drop;         // columns left out
  std::vector<std::string> missing;      // texts that mean missing, besides the empty field
  bool regression = false;               // label is a number to predict
  Shape shape;                           // of x, e.g. 1x8x8: numeric columns are an image
  // Images
  std::string size;               // "32x32": resize; default: all must agree
  std::string channels = "auto";  // auto, 1 or 3
  bool skip_damaged = false;      // list damaged files and go on
  bool keep_empty_classes = false;
  // Text
  std::string tokens = "characters";  // characters or bytes
  std::int64_t context = 64;          // tokens of one sample
  // Splits: from sub-folders train/ val/ test/ when there, else by fraction
  std::map<std::string, std::filesystem::path> split_sources;  // --val PATH, --test PATH
  double val_fraction = 0.1, test_fraction = 0.1;
  bool stratify = true;  // for classes; text is always cut in order
  std::uint64_t seed = 1;
  // Shards
  std::uint64_t shard_bytes = std::uint64_t{64} << 20;
  int zstd_level = 3;
  int threads = 0;     // 0: what the machine allows
  bool force = false;  // replace an existing data set
};

struct BuildReport {
  DatasetManifest manifest;
  std::uint64_t source_bytes = 0, shard_bytes = 0;
  std::int64_t ignored_files = 0, skipped_damaged = 0, duplicates_across_splits = 0;
  std::vector<std::string> lines;  // what a person should know, in order
  double seconds = 0;
};

// Nothing is left behind under `output` on failure.
BuildReport build_dataset(const BuildOptions& options);

// Checks every shard: size, whole-file hash, each chunk's checksum, counts, label range, split ids.
struct VerifyReport {
  std::int64_t shards = 0, chunks = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string>
      problems;  // "train-00001.h5: field x, chunk 3, bytes 4096..9120: checksum …"
};
VerifyReport verify_dataset(const std::filesystem::path& dataset, int threads = 0);

// Human-readable report for `ddl-shard info`.
std::string dataset_info_text(const DatasetManifest& manifest);
// The same for a folder or dataset.json, or its manifest as JSON.
std::string dataset_info(const std::filesystem::path& dataset, bool json);

// What the programs print: a line or two for people, and one JSON object.
std::string build_report_text(const BuildReport& report, const std::filesystem::path& output);
std::string build_report_json(const BuildReport& report);
std::string verify_report_text(const VerifyReport& report);
std::string verify_report_json(const VerifyReport& report);

}  // namespace ddl
