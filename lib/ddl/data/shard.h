// A shard: one HDF5 file with one dataset per field, axis 0 = sample.
//
//   user block       (before the HDF5 part, which h5py and h5dump skip) one line of 64 bytes,
//                      "ddl-shard 1 XXH3-64-OF-TEXT LENGTH-OF-TEXT", then the text, JSON: per field
//                      name, dtype, shape, rows, rows of a chunk, and where its table is, with its
//                      XXH3-64
//   /x /y …          chunked along axis 0 alone; each chunk is one zstd frame (filter 32015) that
//                    carries its content size; the last chunk is padded with zeros
//   /id              int64 [rows]: the sample's number in the source
//   /_index/x …      the table: uint64 [chunks, 4]: address from the file's start, stored bytes,
//                    XXH3-64 of the stored bytes, raw bytes
//   attributes of /  "format" = "ddl-shard", "version" = "1", "split"
//   attributes of a field: "dtype" (bfloat16 and float16 are stored as uint16), "kind"
//
// Our programs read through user block, tables and pread, and never enter libhdf5: its parser may
// crash on damaged files, and it has one lock for all threads. Others read plain HDF5.
// Object times are off and the library bounds fixed: the same rows give the same bytes. The file is
// made in memory, so that every byte reaches the disk through base/file.h.
// Threads: all functions are safe; libhdf5 is entered one at a time.
#pragma once

#include "ddl/base/dtype.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

inline constexpr std::string_view kIdField = "id";
inline constexpr std::int64_t kTargetChunkBytes = std::int64_t{1} << 20;
inline constexpr std::int64_t kMaximumRowBytes = std::int64_t{1} << 30;

// Rows of a chunk whose raw size is about 1 MiB (never over 4 MiB unless one row is larger).
std::int64_t rows_per_chunk(std::int64_t row_bytes);

// A field ready to be stored: whole compressed chunks in row order.
struct PackedField {
  std::string name, kind;
  DType dtype = DType::u8;
  Shape shape;  // of one row
  std::int64_t rows = 0, chunk_rows = 0;
  std::vector<std::vector<std::byte>> chunks;
};

// The bytes of a shard file.
std::vector<std::byte> make_shard(const std::vector<PackedField>& fields, std::string_view split,
                                  int zstd_level);

// Where a stored chunk lies; also a row of the table, as it is in the file.
struct ChunkRecord {
  std::uint64_t address = 0, stored_bytes = 0, xxh3_64 = 0, raw_bytes = 0;
};

struct FieldIndex {
  std::string name;
  DType dtype = DType::u8;
  Shape shape;
  std::int64_t rows = 0, chunk_rows = 0, row_bytes = 0;
  std::uint64_t table_address = 0;
  std::vector<ChunkRecord> chunks;
};

// The user block: its size for a number of fields, and its content (at most that long).
std::size_t shard_header_bytes(std::size_t fields);
std::string shard_header(const std::vector<FieldIndex>& fields, std::size_t bytes);

// Reads and checks the index of every field named; failure naming shard and field when something
// does not fit together. Every address lies inside the file.
std::vector<FieldIndex> read_shard_index(const std::filesystem::path& file,
                                         const std::vector<std::string>& fields);

// Checks a stored chunk against its record and decompresses it. "" when sound, else what is wrong.
std::string unpack_chunk(const ChunkRecord& record, const std::vector<std::byte>& stored,
                         std::vector<std::byte>& raw);

// "field x, chunk 3, bytes 4096..9120"
std::string chunk_text(const FieldIndex& field, std::size_t chunk);

}  // namespace ddl
