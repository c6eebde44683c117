// The shard's own index: user block and tables, read without libhdf5, whose parser may crash on
// damaged files.
#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/data/shard.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <span>

#include <nlohmann/json.hpp>
#include <zstd.h>

namespace ddl {
namespace {

using nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "tables are read as they are stored");

constexpr std::string_view kMagic = "ddl-shard 1 ";
constexpr std::size_t kLineBytes = 64;  // the first line: magic, checksum, length of what follows
constexpr std::size_t kMaximumHeader = std::size_t{1} << 20;

[[noreturn]] void damaged(const std::string& what) {
  throw failure(what, "the shard is damaged or not written by ddl-shard; build the data set again");
}

[[noreturn]] void damaged(const std::string& field, const std::string& what) {
  damaged("field " + field + ": " + what);
}

std::string header_line(std::string_view text) {
  std::string line = std::string(kMagic) + xxh3_64_hex(std::as_bytes(std::span(text))) + " " +
                     std::to_string(text.size());
  line.resize(kLineBytes - 1, ' ');
  return line + "\n";
}

// The text behind the first line, checked.
std::string read_header(const InputFile& file) {
  std::string line(kLineBytes, '\0');
  if (file.size() < kLineBytes) damaged("is too short for a shard");
  file.read_at(0, std::as_writable_bytes(std::span(line)));
  if (!line.starts_with(kMagic)) damaged("does not start with '" + std::string(kMagic) + "'");
  const std::size_t digits = kMagic.size() + 17;
  std::size_t size = 0;
  std::from_chars(line.data() + digits, line.data() + line.size(), size);
  if (size > kMaximumHeader || size > file.size() - kLineBytes)
    damaged("its header claims " + std::to_string(size) + " bytes");
  std::string text(size, '\0');
  file.read_at(kLineBytes, std::as_writable_bytes(std::span(text)));
  if (header_line(text) != line) damaged("its header does not match its checksum");
  return text;
}

FieldIndex parse_field(const ordered_json& entry) {
  FieldIndex field;
  field.name = entry.at("name").get<std::string>();
  field.dtype = parse_dtype(entry.at("dtype").get<std::string>());
  field.shape = entry.at("shape").get<Shape>();
  field.rows = entry.at("rows").get<std::int64_t>();
  field.chunk_rows = entry.at("chunk_rows").get<std::int64_t>();
  field.table_address = entry.at("table_address").get<std::uint64_t>();
  const auto width = static_cast<std::int64_t>(dtype_bytes(field.dtype));
  const std::int64_t elements = element_count(field.shape);
  if (field.rows < 0 || field.chunk_rows < 1 || elements > kMaximumRowBytes / width)
    damaged(field.name, "has an impossible shape");
  field.row_bytes = elements * width;
  if (field.row_bytes > 0 && field.chunk_rows > (std::int64_t{1} << 32) / field.row_bytes)
    damaged(field.name, "has chunks over 4 GiB");
  return field;
}

void read_table(const InputFile& file, const std::string& checksum, FieldIndex& field) {
  const std::int64_t chunks = field.rows / field.chunk_rows + (field.rows % field.chunk_rows != 0);
  const auto count = static_cast<std::uint64_t>(chunks);
  if (field.table_address > file.size() ||
      count > (file.size() - field.table_address) / sizeof(ChunkRecord))
    damaged(field.name, "its chunk index lies outside of the file");
  field.chunks.resize(static_cast<std::size_t>(chunks));
  file.read_at(field.table_address, std::as_writable_bytes(std::span(field.chunks)));
  if (xxh3_64_hex(std::as_bytes(std::span(field.chunks))) != checksum)
    damaged(field.name, "its chunk index does not match its checksum");
  const auto raw = static_cast<std::uint64_t>(field.chunk_rows * field.row_bytes);
  for (std::size_t i = 0; i < field.chunks.size(); ++i) {
    const ChunkRecord& record = field.chunks[i];
    if (record.address > file.size() || record.stored_bytes > file.size() - record.address ||
        record.raw_bytes != raw)
      damaged(field.name,
              "chunk " + std::to_string(i) + " lies outside of the file or has the wrong size");
  }
}

}  // namespace

std::size_t shard_header_bytes(std::size_t fields) {
  // HDF5 looks for its signature at powers of two from 512 on.
  return std::bit_ceil(std::max<std::size_t>(2048, kLineBytes + 512 * (fields + 1)));
}

std::string shard_header(const std::vector<FieldIndex>& fields, std::size_t bytes) {
  ordered_json list = ordered_json::array();
  for (const FieldIndex& field : fields)
    list.push_back({{"name", field.name},
                    {"dtype", dtype_name(field.dtype)},
                    {"shape", field.shape},
                    {"rows", field.rows},
                    {"chunk_rows", field.chunk_rows},
                    {"table_address", field.table_address},
                    {"table_xxh3_64", xxh3_64_hex(std::as_bytes(std::span(field.chunks)))}});
  const std::string text = ordered_json{{"fields", list}}.dump(1) + "\n";
  if (kLineBytes + text.size() > bytes) throw failure("a shard's header does not fit");
  return header_line(text) + text;
}

std::vector<FieldIndex> read_shard_index(const std::filesystem::path& path,
                                         const std::vector<std::string>& fields) try {
  const InputFile file(path);
  const ordered_json header = ordered_json::parse(read_header(file));
  std::vector<FieldIndex> out;
  for (const std::string& name : fields) {
    const ordered_json& list = header.at("fields");
    const auto found = std::find_if(list.begin(), list.end(), [&](const ordered_json& entry) {
      return entry.at("name") == name;
    });
    if (found == list.end()) damaged(name, "is missing");
    out.push_back(parse_field(*found));
    read_table(file, found->at("table_xxh3_64").get<std::string>(), out.back());
  }
  return out;
} catch (Error& error) {
  throw error.with_file(path.string());
} catch (const ordered_json::exception& error) {
  throw failure(std::string("its header is damaged: ") + error.what()).with_file(path.string());
}

std::string unpack_chunk(const ChunkRecord& record, const std::vector<std::byte>& stored,
                         std::vector<std::byte>& raw) {
  if (const std::uint64_t found = xxh3_64(stored); found != record.xxh3_64)
    return "checksum is " + hex64(found) + ", expected " + hex64(record.xxh3_64);
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != record.raw_bytes)
    return "the zstd frame's content size is not " + std::to_string(record.raw_bytes);
  raw.resize(record.raw_bytes);
  const std::size_t got = ZSTD_decompress(raw.data(), raw.size(), stored.data(), stored.size());
  if (ZSTD_isError(got) != 0) return std::string("zstd: ") + ZSTD_getErrorName(got);
  return got == raw.size() ? "" : "the chunk is too short when decompressed";
}

std::string chunk_text(const FieldIndex& field, std::size_t chunk) {
  const ChunkRecord& record = field.chunks[chunk];
  return "field " + field.name + ", chunk " + std::to_string(chunk) + ", bytes " +
         std::to_string(record.address) + ".." +
         std::to_string(record.address + record.stored_bytes);
}

}  // namespace ddl
