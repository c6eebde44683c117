#include "ddl/data/shard.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/data/hdf5.h"
#include "ddl/data/plugin/h5zstd.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace ddl {
namespace {

constexpr const char* kIndexGroup = "_index";
constexpr hsize_t kRecordValues = sizeof(ChunkRecord) / sizeof(std::uint64_t);

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

// Addresses as libhdf5 gives them; settle_addresses() makes them count from the file's start.
std::vector<ChunkRecord> write_chunks(hid_t dataset, const PackedField& field) {
  std::vector<hsize_t> offset(field.shape.size() + 1, 0);
  const std::uint64_t raw_bytes =
      static_cast<std::uint64_t>(field.chunk_rows * element_count(field.shape)) *
      dtype_bytes(field.dtype);
  std::vector<ChunkRecord> records;
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
    records.push_back({address, size, xxh3_64(stored), raw_bytes});
  }
  return records;
}

// Returns the table's address.
std::uint64_t write_table(hid_t group, const PackedField& field,
                          const std::vector<ChunkRecord>& records) {
  const std::array<hsize_t, 2> extents{records.size(), kRecordValues};
  const Hdf5Id space(H5Screate_simple(2, extents.data(), nullptr), H5Sclose, "index space");
  const Hdf5Id properties = untimed(H5P_DATASET_CREATE);
  const Hdf5Id dataset(H5Dcreate2(group, field.name.c_str(), H5T_STD_U64LE, space.get(),
                                  H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                       H5Dclose, "creating the index of " + field.name);
  hdf5_check(
      H5Dwrite(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, records.data()),
      "writing the index of " + field.name);
  write_text_attribute(dataset.get(), "columns", "address stored_bytes xxh3_64 raw_bytes");
  const haddr_t address = H5Dget_offset(dataset.get());
  if (address == HADDR_UNDEF) throw failure("libhdf5 gives no address for an index");
  return address;
}

// The file's bytes. libhdf5 hands them out from its signature on; the user block goes before.
std::vector<std::byte> file_image(hid_t file, std::size_t user_block) {
  hdf5_check(H5Fflush(file, H5F_SCOPE_GLOBAL), "flushing a shard");
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  hdf5_check(size, "sizing a shard");
  std::vector<std::byte> image(user_block + static_cast<std::size_t>(size));
  std::byte* place = image.data() + user_block;
  hdf5_check(H5Fget_file_image(file, place, static_cast<std::size_t>(size)),
             "taking a shard's bytes");
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  if (std::memcmp(place, kSignature.data(), kSignature.size()) != 0)
    throw failure("libhdf5 gave a shard's bytes in another form than expected");
  return image;
}

// Some versions of libhdf5 count addresses from behind the user block, others from the start of the
// file: the bytes themselves decide.
std::uint64_t place_of(const std::vector<std::byte>& image, std::uint64_t address,
                       std::size_t user_block, std::span<const std::byte> bytes) {
  for (const std::uint64_t place : {address, address + user_block})
    if (place <= image.size() && bytes.size() <= image.size() - place &&
        std::equal(bytes.begin(), bytes.end(), image.begin() + static_cast<std::ptrdiff_t>(place)))
      return place;
  throw failure("libhdf5 did not store bytes where it says");
}

// The table of a field with addresses that count from the file's start, in the image as well.
FieldIndex settle_addresses(std::vector<std::byte>& image, const PackedField& field,
                            std::vector<ChunkRecord> records, std::uint64_t table_address,
                            std::size_t user_block) {
  FieldIndex out;
  out.name = field.name;
  out.dtype = field.dtype;
  out.shape = field.shape;
  out.rows = field.rows;
  out.chunk_rows = field.chunk_rows;
  out.table_address = place_of(image, table_address, user_block, std::as_bytes(std::span(records)));
  for (std::size_t i = 0; i < records.size(); ++i)
    records[i].address = place_of(image, records[i].address, user_block, field.chunks[i]);
  const auto bytes = std::as_bytes(std::span(records));
  std::copy(bytes.begin(), bytes.end(),
            image.begin() + static_cast<std::ptrdiff_t>(out.table_address));
  out.chunks = std::move(records);
  return out;
}

}  // namespace

std::int64_t rows_per_chunk(std::int64_t row_bytes) {
  return std::max<std::int64_t>(1, kTargetChunkBytes / std::max<std::int64_t>(1, row_bytes));
}

std::vector<std::byte> make_shard(const std::vector<PackedField>& fields, std::string_view split,
                                  int zstd_level) {
  const Hdf5Session session;
  const std::size_t user_block = shard_header_bytes(fields.size());
  const Hdf5Id creation = untimed(H5P_FILE_CREATE);
  hdf5_check(H5Pset_userblock(creation.get(), user_block), "setting the user block");
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
  std::vector<std::vector<ChunkRecord>> records;
  std::vector<std::uint64_t> table_addresses;
  for (const PackedField& field : fields) {
    Hdf5Id dataset = create_field(file.get(), field, zstd_level);
    write_text_attribute(dataset.get(), "kind", field.kind);
    write_text_attribute(dataset.get(), "dtype", dtype_name(field.dtype));
    records.push_back(write_chunks(dataset.get(), field));
    dataset.close("closing dataset " + field.name);
    table_addresses.push_back(write_table(group.get(), field, records.back()));
  }
  group.close("closing the index group");
  std::vector<std::byte> image = file_image(file.get(), user_block);
  file.close("closing a shard");

  std::vector<FieldIndex> index;
  for (std::size_t i = 0; i < fields.size(); ++i)
    index.push_back(
        settle_addresses(image, fields[i], std::move(records[i]), table_addresses[i], user_block));
  const std::string header = shard_header(index, user_block);
  std::memcpy(image.data(), header.data(), header.size());
  return image;
}

}  // namespace ddl
