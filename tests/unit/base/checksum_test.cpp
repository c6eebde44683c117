#include "ddl/base/checksum.h"

#include "ddl/base/file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

// The buffer of xxHash's own sanity check.
std::vector<std::byte> sanity_buffer(std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::uint64_t state = 2654435761u;
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(state >> 56);
    state *= 11400714785074694797u;
  }
  return bytes;
}

// Published values of xxHash's sanity check, seed 0.
TEST(Checksum, Xxh3In64BitsKnownAnswers) {
  const std::vector<std::pair<std::size_t, std::string>> answers = {
      {0, "2d06800538d394c2"},    {1, "c44bdff4074eecdb"},    {6, "27b56a84cd2d7325"},
      {12, "a713daf0dfbb77e7"},   {24, "a3fe70bf9d3510eb"},   {48, "397da259ecba1f11"},
      {80, "bcdefbbb2c47c90a"},   {195, "cd94217ee362ec3a"},  {403, "cdeb804d65c6dea4"},
      {512, "617e49599013cb6b"},  {2048, "dd59e2c3a5f038e0"}, {2240, "6e73a90539cf2948"},
      {2367, "cb37aeb9e5d361ed"},
  };
  for (const auto& [size, hex] : answers) {
    EXPECT_EQ(xxh3_64_hex(sanity_buffer(size)), hex) << size << " bytes";
  }
}

TEST(Checksum, Xxh3In128BitsKnownAnswers) {
  EXPECT_EQ(xxh3_128_hex(std::string_view{}), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(xxh3_128_hex(sanity_buffer(1)), "a6cd5e9392000f6ac44bdff4074eecdb");
}

TEST(Checksum, StreamingEqualsOneShotForEveryCut) {
  const auto bytes = sanity_buffer(3000);
  const std::string whole = xxh3_128_hex(bytes);
  for (const std::size_t cut : {0u, 1u, 17u, 240u, 256u, 1024u, 2999u, 3000u}) {
    Xxh128 hash;
    hash.update(std::span<const std::byte>(bytes).first(cut));
    hash.update(std::span<const std::byte>(bytes).subspan(cut));
    EXPECT_EQ(hash.hex(), whole) << "cut at " << cut;
  }
}

TEST(Checksum, HexMayBeAskedForTwiceAndInBetween) {
  Xxh128 hash;
  hash.update("ab");
  EXPECT_EQ(hash.hex(), xxh3_128_hex("ab"));
  hash.update("c");
  EXPECT_EQ(hash.hex(), xxh3_128_hex("abc"));
  EXPECT_EQ(hex64(hash.low64()), hash.hex().substr(16));
}

TEST(Checksum, NumbersAreHashedLittleEndian) {
  Xxh128 hash;
  hash.update_u64(0x0807060504030201u);
  EXPECT_EQ(hash.hex(), xxh3_128_hex("\x01\x02\x03\x04\x05\x06\x07\x08"));
}

TEST(Checksum, MovesKeepTheState) {
  Xxh128 first;
  first.update("ab");
  Xxh128 second(std::move(first));
  second.update("c");
  EXPECT_EQ(second.hex(), xxh3_128_hex("abc"));
}

TEST(Checksum, OfFileLongerThanOnePiece) {
  const test::TemporaryFolder folder;
  auto bytes = sanity_buffer((std::size_t{2} << 20) + 12345);
  write_bytes_atomically(folder / "data", bytes);
  EXPECT_EQ(xxh3_128_hex_of_file(folder / "data"), xxh3_128_hex(bytes));
  write_bytes_atomically(folder / "empty", {});
  EXPECT_EQ(xxh3_128_hex_of_file(folder / "empty"), xxh3_128_hex(std::string_view{}));
}

TEST(Checksum, OfMissingFileNamesIt) {
  const Error error = test::error_of([] { xxh3_128_hex_of_file("/nonexistent/shard.h5"); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_EQ(error.file(), "/nonexistent/shard.h5");
}

TEST(Checksum, Hex64HasSixteenLowerCaseDigits) {
  EXPECT_EQ(hex64(0), "0000000000000000");
  EXPECT_EQ(hex64(0xABCDEF0123456789u), "abcdef0123456789");
}

}  // namespace
}  // namespace ddl
