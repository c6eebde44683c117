#include "ddl/data/shard.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/data/hdf5.h"
#include "ddl/data/plugin/h5zstd.h"

#include <algorithm>
#include <array>
#include <span>

#include <zstd.h>

namespace ddl {
namespace {

constexpr const char* kIndexGroup = "_index";
constexpr std::size_t kRecordValues = 4;

hid_t stored_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return H5T_IEEE_F32LE;
    case DType::f64:
      return H5T_IEEE_F64LE;
    case DType::bf16:
    case DType::f16:
    case DType::u16:
      return H5T_STD_U16LE;
    case DType::u8:
    case DType::boolean:
      return H5T_STD_U8LE;
    case DType::i8:
      return H5T_STD_I8LE;
    case DType::i16:
      return H5T_STD_I16LE;
    case DType::i32:
      return H5T_STD_I32LE;
    case DType::i64:
      return H5T_STD_I64LE;
  }
  throw failure("a field's type has no HDF5 counterpart");
}

std::vector<hsize_t> dimensions(std::int64_t rows, const Shape& shape) {
  std::vector<hsize_t> out{static_cast<hsize_t>(rows)};
  for (const std::int64_t extent : shape) out.push_back(static_cast<hsize_t>(extent));
  return out;
}

Hdf5Id untimed(hid_t property_class) {
  Hdf5Id list(H5Pcreate(property_class), H5Pclose, "creating properties");
  hdf5_check(H5Pset_obj_track_times(list.get(), false), "switching object times off");
  return list;
}

Hdf5Id create_field(hid_t file, const PackedField& field, int zstd_level) {
  const std::vector<hsize_t> extents = dimensions(field.rows, field.shape);
  const std::vector<hsize_t> chunk = dimensions(field.chunk_rows, field.shape);
  const int rank = static_cast<int>(extents.size());
  const Hdf5Id space(H5Screate_simple(rank, extents.data(), nullptr), H5Sclose, "dataset space");
  const Hdf5Id properties = untimed(H5P_DATASET_CREATE);
  hdf5_check(H5Pset_chunk(properties.get(), rank, chunk.data()), "setting the chunk shape");
  hdf5_check(H5Pset_fill_time(properties.get(), H5D_FILL_TIME_NEVER), "setting the fill time");
  const unsigned level = static_cast<unsigned>(zstd_level);
  hdf5_check(H5Pset_filter(properties.get(), DDL_H5Z_ZSTD, H5Z_FLAG_MANDATORY, 1, &level),
             "setting the zstd filter");
  return {H5Dcreate2(file, field.name.c_str(), stored_type(field.dtype), space.get(), H5P_DEFAULT,
                     properties.get(), H5P_DEFAULT),
          H5Dclose, "creating dataset " + field.name};
}

std::vector<std::uint64_t> write_chunks(hid_t dataset, const PackedField& field) {
  std::vector<hsize_t> offset(field.shape.size() + 1, 0);
  const std::uint64_t raw_bytes =
      static_cast<std::uint64_t>(field.chunk_rows * element_count(field.shape)) *
      dtype_bytes(field.dtype);
  std::vector<std::uint64_t> table;
  table.reserve(field.chunks.size() * kRecordValues);
  for (std::size_t i = 0; i < field.chunks.size(); ++i) {
    const std::vector<std::byte>& stored = field.chunks[i];
    offset[0] = static_cast<hsize_t>(i) * static_cast<hsize_t>(field.chunk_rows);
    hdf5_check(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, offset.data(), stored.size(), stored.data()),
               "writing a chunk of " + field.name);
    unsigned mask = 0;
    haddr_t address = 0;
    hsize_t size = 0;
    hdf5_check(H5Dget_chunk_info_by_coord(dataset, offset.data(), &mask, &address, &size),
               "asking for a chunk's address");
    if (size != stored.size()) throw failure("libhdf5 stored a chunk in another size");
    table.insert(table.end(), {address, size, xxh3_64(stored), raw_bytes});
  }
  return table;
}

void write_index(hid_t group, const PackedField& field, const std::vector<std::uint64_t>& table) {
  const std::array<hsize_t, 2> extents{field.chunks.size(), kRecordValues};
  const Hdf5Id space(H5Screate_simple(2, extents.data(), nullptr), H5Sclose, "index space");
  const Hdf5Id properties = untimed(H5P_DATASET_CREATE);
  const Hdf5Id dataset(H5Dcreate2(group, field.name.c_str(), H5T_STD_U64LE, space.get(),
                                  H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                       H5Dclose, "creating the index of " + field.name);
  hdf5_check(
      H5Dwrite(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, table.data()),
      "writing the index of " + field.name);
  write_text_attribute(dataset.get(), "columns", "address stored_bytes xxh3_64 raw_bytes");
  write_text_attribute(dataset.get(), "xxh3_64", xxh3_64_hex(std::as_bytes(std::span(table))));
}

std::vector<std::byte> file_image(hid_t file) {
  hdf5_check(H5Fflush(file, H5F_SCOPE_GLOBAL), "flushing a shard");
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  hdf5_check(size, "sizing a shard");
  std::vector<std::byte> image(static_cast<std::size_t>(size));
  hdf5_check(H5Fget_file_image(file, image.data(), image.size()), "taking a shard's bytes");
  return image;
}

[[noreturn]] void damaged_index(const std::string& field, const std::string& what) {
  throw failure("field " + field + ": " + what,
                "the shard is damaged or not written by ddl-shard; build the data set again");
}

}  // namespace

std::int64_t rows_per_chunk(std::int64_t row_bytes) {
  return std::max<std::int64_t>(1, kTargetChunkBytes / std::max<std::int64_t>(1, row_bytes));
}

std::vector<std::byte> make_shard(const std::vector<PackedField>& fields, std::string_view split,
                                  int zstd_level) {
  const Hdf5Session session;
  const Hdf5Id creation = untimed(H5P_FILE_CREATE);
  const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "creating properties");
  hdf5_check(H5Pset_fapl_core(access.get(), std::size_t{4} << 20, false), "in-memory file");
  // The oldest format: every reader knows it, and its superblock has no checksum, which
  // H5Fget_file_image would leave stale.
  hdf5_check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_EARLIEST, H5F_LIBVER_V18),
             "library bounds");
  // The name is never opened: without a backing store the core driver only keeps it.
  Hdf5Id file(H5Fcreate("ddl-shard-in-memory", H5F_ACC_TRUNC, creation.get(), access.get()),
              H5Fclose, "creating a shard");
  write_text_attribute(file.get(), "format", "ddl-shard");
  write_text_attribute(file.get(), "version", "1");
  write_text_attribute(file.get(), "split", split);

  const Hdf5Id group_properties = untimed(H5P_GROUP_CREATE);
  Hdf5Id group(
      H5Gcreate2(file.get(), kIndexGroup, H5P_DEFAULT, group_properties.get(), H5P_DEFAULT),
      H5Gclose, "creating the index group");
  for (const PackedField& field : fields) {
    Hdf5Id dataset = create_field(file.get(), field, zstd_level);
    write_text_attribute(dataset.get(), "kind", field.kind);
    write_text_attribute(dataset.get(), "dtype", dtype_name(field.dtype));
    const std::vector<std::uint64_t> table = write_chunks(dataset.get(), field);
    dataset.close("closing dataset " + field.name);
    write_index(group.get(), field, table);
  }
  group.close("closing the index group");
  std::vector<std::byte> image = file_image(file.get());
  file.close("closing a shard");
  return image;
}

namespace {

DType read_dtype(hid_t dataset, const std::string& name) {
  const std::string text = read_text_attribute(dataset, "dtype");
  if (text.empty()) damaged_index(name, "has no dtype attribute");
  const DType dtype = parse_dtype(text);
  const Hdf5Id type(H5Dget_type(dataset), H5Tclose, "dataset type");
  if (H5Tequal(type.get(), stored_type(dtype)) <= 0)
    damaged_index(name, "is not stored as its dtype attribute '" + text + "' says");
  return dtype;
}

FieldIndex read_layout(hid_t file, const std::string& name) {
  if (H5Lexists(file, name.c_str(), H5P_DEFAULT) <= 0) damaged_index(name, "is missing");
  const Hdf5Id dataset(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose, "opening " + name);
  FieldIndex field;
  field.name = name;
  field.dtype = read_dtype(dataset.get(), name);
  const Hdf5Id space(H5Dget_space(dataset.get()), H5Sclose, "dataset space");
  const int rank = H5Sget_simple_extent_ndims(space.get());
  if (rank < 1 || rank > 8) damaged_index(name, "has " + std::to_string(rank) + " axes");
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank)), chunk(extents);
  hdf5_check(H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr), "dataset extents");
  const Hdf5Id properties(H5Dget_create_plist(dataset.get()), H5Pclose, "dataset properties");
  if (H5Pget_layout(properties.get()) != H5D_CHUNKED ||
      H5Pget_chunk(properties.get(), rank, chunk.data()) != rank)
    damaged_index(name, "is not stored in chunks");
  if (!std::equal(extents.begin() + 1, extents.end(), chunk.begin() + 1))
    damaged_index(name, "is not chunked along axis 0 alone");
  field.rows = static_cast<std::int64_t>(extents[0]);
  field.chunk_rows = static_cast<std::int64_t>(chunk[0]);
  for (std::size_t i = 1; i < extents.size(); ++i)
    field.shape.push_back(static_cast<std::int64_t>(extents[i]));
  const auto width = static_cast<std::int64_t>(dtype_bytes(field.dtype));
  const std::int64_t elements = element_count(field.shape);
  if (field.rows < 0 || field.chunk_rows < 1 || elements > kMaximumRowBytes / width)
    damaged_index(name, "has an impossible shape");
  field.row_bytes = elements * width;
  if (field.row_bytes > 0 && field.chunk_rows > (std::int64_t{1} << 32) / field.row_bytes)
    damaged_index(name, "has chunks over 4 GiB");
  return field;
}

void read_records(hid_t file, FieldIndex& field, std::uint64_t file_bytes) {
  const std::string path = std::string(kIndexGroup) + "/" + field.name;
  if (H5Lexists(file, kIndexGroup, H5P_DEFAULT) <= 0 ||
      H5Lexists(file, path.c_str(), H5P_DEFAULT) <= 0)
    damaged_index(field.name, "has no chunk index");
  const Hdf5Id dataset(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose, "opening " + path);
  const Hdf5Id space(H5Dget_space(dataset.get()), H5Sclose, "index space");
  std::array<hsize_t, 2> extents{};
  const std::int64_t chunks = (field.rows + field.chunk_rows - 1) / field.chunk_rows;
  if (H5Sget_simple_extent_ndims(space.get()) != 2 ||
      H5Sget_simple_extent_dims(space.get(), extents.data(), nullptr) < 0 ||
      extents[0] != static_cast<hsize_t>(chunks) || extents[1] != kRecordValues ||
      extents[0] > file_bytes)
    damaged_index(field.name, "its chunk index has the wrong shape");
  std::vector<std::uint64_t> table(static_cast<std::size_t>(chunks) * kRecordValues);
  hdf5_check(H5Dread(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, table.data()),
             "reading " + path);
  if (read_text_attribute(dataset.get(), "xxh3_64") != xxh3_64_hex(std::as_bytes(std::span(table))))
    damaged_index(field.name, "its chunk index does not match its checksum");
  const auto raw = static_cast<std::uint64_t>(field.chunk_rows * field.row_bytes);
  for (std::size_t i = 0; i < table.size(); i += kRecordValues) {
    const ChunkRecord record{table[i], table[i + 1], table[i + 2], table[i + 3]};
    if (record.address > file_bytes || record.stored_bytes > file_bytes - record.address ||
        record.raw_bytes != raw)
      damaged_index(field.name, "chunk " + std::to_string(i / kRecordValues) +
                                    " lies outside of the file or has the wrong size");
    field.chunks.push_back(record);
  }
}

}  // namespace

std::vector<FieldIndex> read_shard_index(const std::filesystem::path& path,
                                         const std::vector<std::string>& fields,
                                         std::uint64_t file_bytes) try {
  const Hdf5Session session;
  const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "creating properties");
  // Readers take no lock: some shared file systems have none to give.
  hdf5_check(H5Pset_file_locking(access.get(), false, true), "switching file locks off");
  const Hdf5Id file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose,
                    "opening the shard");
  if (read_text_attribute(file.get(), "format") != "ddl-shard")
    throw failure("is not a ddl shard (root attribute \"format\")");
  if (const std::string version = read_text_attribute(file.get(), "version"); version != "1")
    throw failure("shard version '" + version + "' is unknown; this program reads version 1");
  std::vector<FieldIndex> out;
  for (const std::string& name : fields) {
    out.push_back(read_layout(file.get(), name));
    read_records(file.get(), out.back(), file_bytes);
  }
  return out;
} catch (Error& error) {
  throw error.with_file(path.string());
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
