#include "ddl/data/dataset.h"

#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/data/chunk_cache.h"
#include "ddl/data/shard.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace ddl {
namespace {

// A shard of the manifest; opened at its first use.
struct OpenShard {
  const Shard* entry = nullptr;
  std::size_t number = 0;
  std::int64_t first = 0;  // its first sample within the split
  std::once_flag once;
  std::optional<InputFile> file;
  std::vector<FieldIndex> fields;  // parallel to the manifest's fields
};

// The shards of a split that hold samples, in order.
struct SplitShards {
  std::vector<OpenShard*> shards;
  std::int64_t samples = 0;
};

}  // namespace

struct Dataset::Impl {
  std::filesystem::path folder;
  DatasetManifest manifest;
  std::string hash;
  std::deque<OpenShard> shards;
  std::map<std::string, SplitShards, std::less<>> splits;
  ChunkCache cache;

  explicit Impl(std::size_t cache_bytes) : cache(cache_bytes) {}
  void open(OpenShard& shard) const;
  const SplitShards& split(std::string_view name) const;
  OpenShard& shard_of(const SplitShards& split, std::int64_t index) const;
  std::size_t field_number(std::string_view name) const;
  std::vector<std::byte> load(const OpenShard& shard, std::size_t field, std::size_t chunk) const;
};

void Dataset::Impl::open(OpenShard& shard) const {
  const std::filesystem::path path = confined_path(folder, shard.entry->file);
  InputFile file(path);
  if (file.size() != shard.entry->bytes)
    throw failure("has " + std::to_string(file.size()) + " bytes, dataset.json says " +
                      std::to_string(shard.entry->bytes),
                  "ddl-shard verify tells more")
        .with_file(path.string());
  std::vector<std::string> names;
  for (const Field& field : manifest.fields) names.push_back(field.name);
  std::vector<FieldIndex> fields = read_shard_index(path, names);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Field& wanted = manifest.fields[i];
    const FieldIndex& found = fields[i];
    if (found.dtype != wanted.dtype || found.shape != wanted.shape ||
        found.rows != shard.entry->samples)
      throw failure("field " + wanted.name + " is " + std::to_string(found.rows) + " of " +
                        std::string(dtype_name(found.dtype)) + " " + shape_text(found.shape) +
                        ", dataset.json says " + std::to_string(shard.entry->samples) + " of " +
                        std::string(dtype_name(wanted.dtype)) + " " + shape_text(wanted.shape),
                    "build the data set again")
          .with_file(path.string());
  }
  shard.fields = std::move(fields);
  shard.file.emplace(std::move(file));
}

const SplitShards& Dataset::Impl::split(std::string_view name) const {
  const auto found = splits.find(name);
  if (found == splits.end())
    throw bad_input("the data set has no split '" + std::string(name) + "'",
                    "ddl-shard info lists its splits")
        .with_file(folder.string());
  return found->second;
}

OpenShard& Dataset::Impl::shard_of(const SplitShards& split, std::int64_t index) const {
  if (index < 0 || index >= split.samples)
    throw bad_input("sample " + std::to_string(index) + " was asked for, the split has " +
                    std::to_string(split.samples) + " samples")
        .with_file(folder.string());
  const auto after = std::upper_bound(
      split.shards.begin(), split.shards.end(), index,
      [](std::int64_t wanted, const OpenShard* shard) { return wanted < shard->first; });
  OpenShard& shard = **std::prev(after);
  std::call_once(shard.once, [&] { open(shard); });
  return shard;
}

std::size_t Dataset::Impl::field_number(std::string_view name) const {
  const auto found = std::find_if(manifest.fields.begin(), manifest.fields.end(),
                                  [&](const Field& field) { return field.name == name; });
  if (found == manifest.fields.end())
    throw bad_input("the data set has no field '" + std::string(name) + "'")
        .with_file(folder.string());
  return static_cast<std::size_t>(found - manifest.fields.begin());
}

std::vector<std::byte> Dataset::Impl::load(const OpenShard& shard, std::size_t field,
                                           std::size_t chunk) const {
  const FieldIndex& index = shard.fields[field];
  const ChunkRecord& record = index.chunks[chunk];
  std::vector<std::byte> stored(record.stored_bytes), raw;
  shard.file->read_at(record.address, stored);
  if (const std::string problem = unpack_chunk(record, stored, raw); !problem.empty())
    throw failure(chunk_text(index, chunk) + ": " + problem,
                  "restore this shard from a good copy or build the data set again")
        .with_file(shard.file->path().string());
  return raw;
}

Dataset::Dataset(const std::filesystem::path& path, std::size_t cache_bytes)
    : impl_(std::make_unique<Impl>(cache_bytes)) {
  const bool is_folder = std::filesystem::is_directory(path);
  impl_->folder = is_folder ? path : path.parent_path();
  if (impl_->folder.empty()) impl_->folder = ".";
  impl_->manifest = read_dataset_manifest(is_folder ? path / "dataset.json" : path);
  impl_->hash = manifest_hash(impl_->manifest);
  for (const Shard& entry : impl_->manifest.shards) {
    SplitShards& split = impl_->splits[entry.split];
    if (entry.samples == 0) continue;
    OpenShard& shard = impl_->shards.emplace_back();
    shard.entry = &entry;
    shard.number = impl_->shards.size() - 1;
    shard.first = split.samples;
    split.samples += entry.samples;
    split.shards.push_back(&shard);
  }
  for (const Split& described : impl_->manifest.splits) {
    const std::int64_t held = impl_->splits[described.name].samples;
    if (held != described.samples)
      throw bad_input("split " + described.name + " says " + std::to_string(described.samples) +
                          " samples, its shards hold " + std::to_string(held),
                      "build the data set again")
          .with_file((impl_->folder / "dataset.json").string());
  }
}

Dataset::~Dataset() = default;
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;

const DatasetManifest& Dataset::manifest() const {
  return impl_->manifest;
}
const std::string& Dataset::hash() const {
  return impl_->hash;
}
const std::filesystem::path& Dataset::folder() const {
  return impl_->folder;
}

void Dataset::read(std::string_view split, std::string_view field,
                   std::span<const std::int64_t> indices, std::span<std::byte> out) const {
  const SplitShards& shards = impl_->split(split);
  const std::size_t number = impl_->field_number(field);
  const Field& wanted = impl_->manifest.fields[number];
  const std::size_t row_bytes =
      static_cast<std::size_t>(element_count(wanted.shape)) * dtype_bytes(wanted.dtype);
  if (out.size() != indices.size() * row_bytes)
    throw failure("reading " + std::to_string(indices.size()) + " samples of field " + wanted.name +
                  " into a buffer of " + std::to_string(out.size()) + " bytes");
  // Samples that follow each other mostly share a chunk: ask the cache only when it changes.
  ChunkKey held{};
  Chunk chunk;
  std::byte* target = out.data();
  for (const std::int64_t index : indices) {
    const OpenShard& shard = impl_->shard_of(shards, index);
    const std::int64_t row = index - shard.first;
    const std::int64_t chunk_rows = shard.fields[number].chunk_rows;
    const ChunkKey key{shard.number, number, static_cast<std::size_t>(row / chunk_rows)};
    if (chunk == nullptr || key != held) {
      chunk = impl_->cache.get(key, [&] { return impl_->load(shard, number, key.chunk); });
      held = key;
    }
    std::memcpy(target, chunk->data() + static_cast<std::size_t>(row % chunk_rows) * row_bytes,
                row_bytes);
    target += row_bytes;
  }
}

}  // namespace ddl
