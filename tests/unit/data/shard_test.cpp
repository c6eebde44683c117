#include "ddl/data/shard.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"

#include "unit/data/support.h"
#include <zstd.h>

namespace ddl {
namespace {

std::vector<std::byte> packed(const std::vector<std::byte>& raw) {
  std::vector<std::byte> out(ZSTD_compressBound(raw.size()));
  out.resize(ZSTD_compress(out.data(), out.size(), raw.data(), raw.size(), 3));
  return out;
}

// 5 rows of 4 bytes, value = index, in chunks of 2.
std::vector<PackedField> counting_field() {
  PackedField field;
  field.name = "x";
  field.kind = "numeric";
  field.dtype = DType::f32;
  field.rows = 5;
  field.chunk_rows = 2;
  for (int chunk = 0; chunk < 3; ++chunk) {
    std::vector<std::byte> raw(8);
    for (int i = 0; i < 2 && chunk * 2 + i < 5; ++i) {
      const auto value = static_cast<float>(chunk * 2 + i);
      std::memcpy(raw.data() + i * 4, &value, 4);
    }
    field.chunks.push_back(packed(raw));
  }
  return {field};
}

TEST(Shard, ChunksAreFoundThroughTheIndexAndHoldTheirRows) {
  const test::TemporaryFolder folder;
  const std::vector<std::byte> image = make_shard(counting_field(), "train", 3);
  write_bytes_atomically(folder / "s.h5", image);
  const auto fields = read_shard_index(folder / "s.h5", {"x"});
  ASSERT_EQ(fields.size(), 1U);
  EXPECT_EQ(fields[0].rows, 5);
  EXPECT_EQ(fields[0].chunk_rows, 2);
  ASSERT_EQ(fields[0].chunks.size(), 3U);
  int expected = 0;
  for (const ChunkRecord& record : fields[0].chunks) {
    const auto begin = image.begin() + static_cast<std::ptrdiff_t>(record.address);
    const std::vector<std::byte> stored(begin,
                                        begin + static_cast<std::ptrdiff_t>(record.stored_bytes));
    std::vector<std::byte> raw;
    EXPECT_EQ(unpack_chunk(record, stored, raw), "");
    for (int i = 0; i < 2 && expected < 5; ++i) {
      float value = -1;
      std::memcpy(&value, raw.data() + i * 4, 4);
      EXPECT_EQ(value, static_cast<float>(expected++));
    }
  }
}

TEST(Shard, TheSameRowsGiveTheSameBytes) {
  EXPECT_EQ(make_shard(counting_field(), "train", 3), make_shard(counting_field(), "train", 3));
}

TEST(Shard, DamagedChunksAreToldApart) {
  std::vector<std::byte> raw(8), stored = packed(raw), out;
  ChunkRecord record{0, stored.size(), xxh3_64(stored), 8};
  EXPECT_EQ(unpack_chunk(record, stored, out), "");
  record.raw_bytes = 16;
  EXPECT_NE(unpack_chunk(record, stored, out), "");
  record.raw_bytes = 8;
  stored.back() ^= std::byte{1};
  EXPECT_NE(unpack_chunk(record, stored, out).find("checksum"), std::string::npos);
}

TEST(Shard, EveryFlippedByteIsFoundOrHarmless) {
  const test::TemporaryFolder folder;
  const std::vector<std::byte> image = make_shard(counting_field(), "train", 3);
  // Hostile bytes anywhere: an error, or an index that still fits; never a crash or a wild read.
  for (std::size_t i = 0; i < image.size(); i += 37) {
    std::vector<std::byte> damaged = image;
    damaged[i] ^= std::byte{0x55};
    write_bytes_atomically(folder / "d.h5", damaged);
    try {
      const auto fields = read_shard_index(folder / "d.h5", {"x"});
      for (const ChunkRecord& record : fields[0].chunks)
        EXPECT_LE(record.address + record.stored_bytes, damaged.size());
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("d.h5"), std::string::npos);
    }
  }
}

TEST(Shard, OtherFilesAreRefused) {
  const test::TemporaryFolder folder;
  test::put(folder / "t.h5", "not HDF5 at all");
  EXPECT_THROW(read_shard_index(folder / "t.h5", {"x"}), Error);
  write_bytes_atomically(folder / "s.h5", make_shard(counting_field(), "train", 3));
  const Error error = test::error_of([&] { read_shard_index(folder / "s.h5", {"nothing"}); });
  EXPECT_NE(std::string(error.what()).find("field nothing"), std::string::npos);
}

TEST(Shard, ChunksAreAboutAMebibyte) {
  EXPECT_EQ(rows_per_chunk(8), 131072);
  EXPECT_EQ(rows_per_chunk(3072), 341);
  EXPECT_EQ(rows_per_chunk(std::int64_t{3} << 20), 1);
}

}  // namespace
}  // namespace ddl
