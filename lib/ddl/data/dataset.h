// Reading a sharded data set: samples by index, fields as raw bytes.
//
// Chunks are read with pread at the addresses of the shard's index dataset, checked against their
// checksums, and decompressed in the caller's thread, outside libhdf5. Readers take no file lock
// and never write beside the data. Memory: a bounded cache of decoded chunks. Threads: read() is
// safe from any number of threads. Errors: a damaged chunk is failure naming shard, chunk and byte
// range.
#pragma once

#include "ddl/artifact/dataset.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ddl {

class Dataset {
 public:
  // `path`: the data set's folder or its dataset.json.
  explicit Dataset(const std::filesystem::path& path,
                   std::size_t cache_bytes = std::size_t{256} << 20);
  ~Dataset();
  Dataset(Dataset&&) noexcept;
  Dataset& operator=(Dataset&&) noexcept;

  const DatasetManifest& manifest() const;
  const std::string& hash() const;  // manifest_hash
  const std::filesystem::path& folder() const;

  // Values of one field for samples [indices] of a split, row-major, tightly packed, in the stored
  // dtype. out.size() = indices.size() * bytes of one sample.
  void read(std::string_view split, std::string_view field, std::span<const std::int64_t> indices,
            std::span<std::byte> out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ddl
