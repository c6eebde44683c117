// Checksums: XXH3 (xxhash) in 64 and 128 bits. Hex strings are lower case, most significant first
// (the canonical form that `xxhsum -H2` prints).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace ddl {

std::uint64_t xxh3_64(std::span<const std::byte> bytes);
std::string xxh3_64_hex(std::span<const std::byte> bytes);
std::string xxh3_128_hex(std::span<const std::byte> bytes);
std::string xxh3_128_hex(std::string_view text);
// Streams the file through XXH3-128 in 1 MiB pieces.
std::string xxh3_128_hex_of_file(const std::filesystem::path& path);

// Streaming XXH3-128.
class Xxh128 {
 public:
  Xxh128();
  ~Xxh128();
  Xxh128(Xxh128&&) noexcept;
  Xxh128& operator=(Xxh128&&) noexcept;
  void update(std::span<const std::byte> bytes);
  void update(std::string_view text);
  void update_u64(std::uint64_t value);  // little-endian
  std::string hex() const;
  // The 128-bit value's low and high halves, for keys.
  std::uint64_t low64() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string hex64(std::uint64_t value);

}  // namespace ddl
