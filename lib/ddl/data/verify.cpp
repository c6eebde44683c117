#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/progress.h"
#include "ddl/base/threads.h"
#include "ddl/data/build.h"
#include "ddl/data/shard.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace ddl {
namespace {

// What one shard says, and what was found in it.
struct ShardFindings {
  std::vector<std::string> problems;
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> class_counts;
  std::int64_t chunks = 0;
};

class ShardChecker {
 public:
  ShardChecker(const DatasetManifest& manifest, const Shard& shard, std::filesystem::path path)
      : manifest_(manifest), shard_(shard), path_(std::move(path)) {}
  ShardFindings check();

 private:
  void problem(const std::string& text) { found_.problems.push_back(shard_.file + ": " + text); }
  void check_layout(const std::vector<FieldIndex>& fields);
  void check_field(const InputFile& file, const FieldIndex& field, const Field* described);
  void check_values(const FieldIndex& field, const Field& described, std::int64_t first,
                    std::int64_t rows, const std::vector<std::byte>& raw);

  const DatasetManifest& manifest_;
  const Shard& shard_;
  std::filesystem::path path_;
  ShardFindings found_;
};

void ShardChecker::check_layout(const std::vector<FieldIndex>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const FieldIndex& field = fields[i];
    if (field.rows != shard_.samples)
      problem("field " + field.name + ": has " + std::to_string(field.rows) +
              " samples, dataset.json says " + std::to_string(shard_.samples));
    if (i >= manifest_.fields.size()) continue;
    const Field& described = manifest_.fields[i];
    if (field.dtype != described.dtype || field.shape != described.shape)
      problem("field " + field.name + ": is " + std::string(dtype_name(field.dtype)) + " " +
              shape_text(field.shape) + ", dataset.json says " +
              std::string(dtype_name(described.dtype)) + " " + shape_text(described.shape));
  }
}

void ShardChecker::check_values(const FieldIndex& field, const Field& described, std::int64_t first,
                                std::int64_t rows, const std::vector<std::byte>& raw) {
  if (described.kind != FieldKind::label || field.dtype != DType::i64) return;
  const auto classes = static_cast<std::int64_t>(manifest_.classes.size());
  found_.class_counts.resize(manifest_.classes.size(), 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    std::int64_t label = 0;
    std::memcpy(&label, raw.data() + static_cast<std::size_t>(i) * sizeof label, sizeof label);
    if (label < 0 || label >= classes)
      problem("field " + field.name + ", sample " + std::to_string(first + i) + ": label " +
              std::to_string(label) + " is outside of 0.." + std::to_string(classes - 1));
    else
      ++found_.class_counts[static_cast<std::size_t>(label)];
  }
}

void ShardChecker::check_field(const InputFile& file, const FieldIndex& field,
                               const Field* described) {
  std::vector<std::byte> stored, raw;
  for (std::size_t c = 0; c < field.chunks.size(); ++c) {
    ++found_.chunks;
    stored.resize(field.chunks[c].stored_bytes);
    file.read_at(field.chunks[c].address, stored);
    if (const std::string what = unpack_chunk(field.chunks[c], stored, raw); !what.empty()) {
      problem(chunk_text(field, c) + ": " + what);
      continue;
    }
    const std::int64_t first = static_cast<std::int64_t>(c) * field.chunk_rows;
    const std::int64_t rows = std::min(field.chunk_rows, field.rows - first);
    if (described != nullptr) {
      check_values(field, *described, first, rows, raw);
    } else {
      const std::size_t old = found_.ids.size();
      found_.ids.resize(old + static_cast<std::size_t>(rows));
      std::memcpy(found_.ids.data() + old, raw.data(),
                  static_cast<std::size_t>(rows) * sizeof(std::int64_t));
    }
  }
}

ShardFindings ShardChecker::check() {
  try {
    const InputFile file(path_);
    if (file.size() != shard_.bytes)
      problem("has " + std::to_string(file.size()) + " bytes, dataset.json says " +
              std::to_string(shard_.bytes));
    const bool whole = xxh3_128_hex_of_file(path_) == shard_.xxh3_128;
    std::vector<std::string> names;
    for (const Field& field : manifest_.fields) names.push_back(field.name);
    names.emplace_back(kIdField);
    const std::vector<FieldIndex> fields = read_shard_index(path_, names);
    check_layout(fields);
    for (std::size_t i = 0; i < fields.size(); ++i)
      check_field(file, fields[i], i < manifest_.fields.size() ? &manifest_.fields[i] : nullptr);
    if (!whole && found_.problems.empty())
      problem(
          "its checksum is not the one in dataset.json, though every chunk is sound: bytes "
          "outside of the chunks differ");
  } catch (const Error& error) {
    problem(error.reason());
  }
  return std::move(found_);
}

// Counts, ids and disjointness over the shards of each split.
void check_splits(const DatasetManifest& manifest, const std::vector<ShardFindings>& shards,
                  VerifyReport& report) {
  std::map<std::int64_t, std::string> owner;
  for (const Split& split : manifest.splits) {
    std::vector<std::int64_t> ids, counts(split.class_counts.size(), 0);
    for (std::size_t s = 0; s < shards.size(); ++s) {
      if (manifest.shards[s].split != split.name) continue;
      ids.insert(ids.end(), shards[s].ids.begin(), shards[s].ids.end());
      for (std::size_t c = 0; c < std::min(counts.size(), shards[s].class_counts.size()); ++c)
        counts[c] += shards[s].class_counts[c];
    }
    const auto problem = [&](const std::string& text) {
      report.problems.push_back("dataset.json: split " + split.name + ": " + text);
    };
    if (static_cast<std::int64_t>(ids.size()) != split.samples)
      problem("says " + std::to_string(split.samples) + " samples, the shards hold " +
              std::to_string(ids.size()));
    if (counts != split.class_counts) problem("its class counts are not those of the shards");
    std::sort(ids.begin(), ids.end());
    Xxh128 hash;
    for (const std::int64_t id : ids) hash.update_u64(static_cast<std::uint64_t>(id));
    if (hash.hex() != split.ids_hash) problem("ids_hash is not that of the stored ids");
    for (const std::int64_t id : ids) {
      const auto [place, fresh] = owner.try_emplace(id, split.name);
      if (fresh) continue;
      problem("sample id " + std::to_string(id) + " is also in " + place->second);
      break;
    }
  }
}

}  // namespace

VerifyReport verify_dataset(const std::filesystem::path& dataset, int threads) {
  const bool is_folder = std::filesystem::is_directory(dataset);
  const std::filesystem::path file = is_folder ? dataset / "dataset.json" : dataset;
  const DatasetManifest manifest = read_dataset_manifest(file);
  VerifyReport report;
  std::vector<ShardFindings> found(manifest.shards.size());
  Progress progress("verifying", manifest.shards.size(), "shards");
  ThreadPool pool(threads > 0 ? threads : available_threads());
  pool.parallel_for(manifest.shards.size(), [&](std::size_t i) {
    const Shard& shard = manifest.shards[i];
    found[i] = ShardChecker(manifest, shard, confined_path(file.parent_path(), shard.file)).check();
    progress.advance(1);
  });
  bool sound = true;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ++report.shards;
    report.chunks += found[i].chunks;
    report.bytes += manifest.shards[i].bytes;
    sound = sound && found[i].problems.empty();
    report.problems.insert(report.problems.end(), found[i].problems.begin(),
                           found[i].problems.end());
  }
  // With damaged shards the totals would only repeat what is named already.
  if (sound) check_splits(manifest, found, report);
  return report;
}

}  // namespace ddl
