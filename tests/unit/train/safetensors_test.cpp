#include "ddl/train/safetensors.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/random.h"

#include <cstring>

#include "fixture.h"

namespace ddl {
namespace {

using Safetensors = TrainFixture;

TEST_F(Safetensors, RoundTrip) {
  const std::vector<float> a = {1, -2.5F, 3, 4, 5, 6};
  const std::vector<std::int64_t> b = {INT64_MIN, 7};
  const auto file = folder_ / "state.safetensors";
  const std::string hash =
      write_safetensors({{"model/a", DType::f32, {2, 3}, std::as_bytes(std::span(a))},
                         {"b \"quoted\"", DType::i64, {2}, std::as_bytes(std::span(b))},
                         {"empty", DType::f32, {0, 4}, {}}},
                        file);
  EXPECT_EQ(hash, xxh3_128_hex_of_file(file));
  const std::vector<std::byte> bytes = read_bytes(file);
  const auto arrays = parse_safetensors(bytes, file);
  ASSERT_EQ(arrays.size(), 3U);
  EXPECT_EQ(arrays.at("model/a").shape, (Shape{2, 3}));
  EXPECT_EQ(std::memcmp(arrays.at("model/a").bytes.data(), a.data(), 24), 0);
  EXPECT_EQ(arrays.at("b \"quoted\"").dtype, DType::i64);
  EXPECT_EQ(std::memcmp(arrays.at("b \"quoted\"").bytes.data(), b.data(), 16), 0);
  EXPECT_TRUE(arrays.at("empty").bytes.empty());
}

// Whatever is damaged, reading ends in an error or in views inside the buffer.
TEST_F(Safetensors, DamagedFilesAreRefused) {
  const std::vector<float> a(20, 1.0F);
  const auto file = folder_ / "state.safetensors";
  write_safetensors({{"a", DType::f32, {4, 5}, std::as_bytes(std::span(a))}}, file);
  const std::vector<std::byte> whole = read_bytes(file);
  for (std::size_t cut = 0; cut + 1 < whole.size(); ++cut)
    EXPECT_THROW(parse_safetensors(std::span(whole).first(cut), file), Error) << cut;
  Random random(1, "damage");
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> damaged = whole;
    for (int i = 0; i < 3; ++i)
      damaged[random.below(damaged.size() - 80)] = static_cast<std::byte>(random.below(256));
    try {
      for (const auto& [name, array] : parse_safetensors(damaged, file)) {
        EXPECT_GE(array.bytes.data(), damaged.data());
        EXPECT_LE(array.bytes.data() + array.bytes.size(), damaged.data() + damaged.size());
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.file(), file.string());
    }
  }
}

}  // namespace
}  // namespace ddl
