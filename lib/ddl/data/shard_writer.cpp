#include "ddl/data/shard_writer.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <zstd.h>

namespace ddl {
namespace {

std::vector<std::byte> compress(const std::vector<std::byte>& raw, int level) {
  std::vector<std::byte> out(ZSTD_compressBound(raw.size()));
  const std::size_t got = ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), level);
  if (ZSTD_isError(got) != 0) throw failure(std::string("zstd: ") + ZSTD_getErrorName(got));
  out.resize(got);
  out.shrink_to_fit();
  return out;
}

std::string shard_name(const std::string& split, std::size_t number) {
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), "%05zu", number);
  return split + "-" + digits.data() + ".h5";
}

}  // namespace

ShardWriter::ShardWriter(std::filesystem::path folder, std::string split,
                         const std::vector<Field>& fields, const ShardWriterOptions& options,
                         ThreadPool& pool)
    : folder_(std::move(folder)), split_(std::move(split)), options_(options), pool_(pool) {
  std::int64_t sample_bytes = 0;
  const auto add_field = [&](const std::string& name, std::string kind, DType dtype,
                             const Shape& shape) {
    Open open;
    open.packed.name = name;
    open.packed.kind = std::move(kind);
    open.packed.dtype = dtype;
    open.packed.shape = shape;
    open.row_bytes = element_count(shape) * static_cast<std::int64_t>(dtype_bytes(dtype));
    if (open.row_bytes > kMaximumRowBytes)
      throw bad_input("field " + name + " has " + shape_text(shape) + " a sample, more than 1 GiB");
    open.target_rows = rows_per_chunk(open.row_bytes);
    sample_bytes += open.row_bytes;
    open_.push_back(std::move(open));
  };
  for (const Field& field : fields)
    add_field(field.name, std::string(field_kind_name(field.kind)), field.dtype, field.shape);
  add_field(std::string(kIdField), "id", DType::i64, {});
  samples_per_shard_ =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(options_.shard_bytes) / sample_bytes);
}

void ShardWriter::add(std::span<const std::span<const std::byte>> rows, std::int64_t id) {
  for (std::size_t f = 0; f < open_.size(); ++f) {
    Open& open = open_[f];
    const std::span<const std::byte> row =
        f < rows.size() ? rows[f] : std::as_bytes(std::span(&id, 1));
    open.current.insert(open.current.end(), row.begin(), row.end());
    if (++open.packed.rows % open.target_rows == 0)
      open.waiting.push_back(std::exchange(open.current, {}));
  }
  if (++samples_ == samples_per_shard_) write_shard();
}

void ShardWriter::compress_waiting() {
  std::vector<std::pair<const std::vector<std::byte>*, std::vector<std::byte>*>> jobs;
  for (Open& open : open_) {
    const std::size_t done = open.packed.chunks.size();
    open.packed.chunks.resize(done + open.waiting.size());
    for (std::size_t i = 0; i < open.waiting.size(); ++i)
      jobs.emplace_back(&open.waiting[i], &open.packed.chunks[done + i]);
  }
  pool_.parallel_for(jobs.size(), [&](std::size_t i) {
    *jobs[i].second = compress(*jobs[i].first, options_.zstd_level);
  });
  for (Open& open : open_) open.waiting.clear();
}

void ShardWriter::write_shard() {
  for (Open& open : open_) {
    // A set smaller than a chunk is one chunk of its own size; a last chunk is padded with zeros.
    open.packed.chunk_rows = std::min(open.target_rows, open.packed.rows);
    if (open.current.empty()) continue;
    open.current.resize(static_cast<std::size_t>(open.packed.chunk_rows * open.row_bytes));
    open.waiting.push_back(std::exchange(open.current, {}));
  }
  compress_waiting();
  std::vector<PackedField> packed;
  for (Open& open : open_) {
    std::vector<std::vector<std::byte>> chunks = std::exchange(open.packed.chunks, {});
    packed.push_back(open.packed);
    packed.back().chunks = std::move(chunks);
    open.packed.rows = 0;
  }
  const std::vector<std::byte> image = make_shard(packed, split_, options_.zstd_level);
  packed.clear();
  const std::string name = shard_name(split_, shards_.size());
  OutputFile file(folder_ / name);
  file.write(image);
  file.commit();
  shards_.push_back({name, split_, samples_, image.size(), xxh3_128_hex(image)});
  samples_ = 0;
}

void ShardWriter::finish() {
  if (samples_ > 0) write_shard();
}

}  // namespace ddl
