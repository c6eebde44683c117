// Writes the samples of one split into shards, in the order they come.
//
// Rows gather into chunks; whole chunks wait to be compressed side by side; a full shard goes to
// disk. Memory: the compressed chunks of one shard, twice while it is written, and a few raw
// chunks. The bytes do not depend on the number of threads. Errors: from base/file.h and
// data/hdf5.h.
#pragma once

#include "ddl/artifact/dataset.h"
#include "ddl/base/threads.h"
#include "ddl/data/shard.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace ddl {

struct ShardWriterOptions {
  std::uint64_t shard_bytes = 0;  // raw
  int zstd_level = 3;
};

class ShardWriter {
 public:
  ShardWriter(std::filesystem::path folder, std::string split, const std::vector<Field>& fields,
              const ShardWriterOptions& options, ThreadPool& pool);
  // One sample: a row per field, and its id.
  void add(std::span<const std::span<const std::byte>> rows, std::int64_t id);
  // Compresses the whole chunks that wait; called after each block.
  void compress_waiting();
  // Writes what is left. Afterwards shards() is complete.
  void finish();
  const std::vector<Shard>& shards() const { return shards_; }

 private:
  struct Open {
    PackedField packed;
    std::int64_t row_bytes = 0, target_rows = 0;
    std::vector<std::vector<std::byte>> waiting;  // raw chunks, not yet compressed
    std::vector<std::byte> current;
  };
  void write_shard();

  std::filesystem::path folder_;
  std::string split_;
  ShardWriterOptions options_;
  ThreadPool& pool_;
  std::vector<Open> open_;  // one per field, then the ids
  std::int64_t samples_per_shard_ = 0, samples_ = 0;
  std::vector<Shard> shards_;
};

}  // namespace ddl
