#include "ddl/base/checksum.h"

#include "ddl/base/file.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>
#include <vector>

#include <xxhash.h>

namespace ddl {
namespace {

std::string hex128(const XXH128_hash_t& hash) {
  return hex64(hash.high64) + hex64(hash.low64);
}

}  // namespace

std::uint64_t xxh3_64(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string xxh3_64_hex(std::span<const std::byte> bytes) {
  return hex64(xxh3_64(bytes));
}

std::string xxh3_128_hex(std::span<const std::byte> bytes) {
  return hex128(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string xxh3_128_hex(std::string_view text) {
  return hex128(XXH3_128bits(text.data(), text.size()));
}

std::string xxh3_128_hex_of_file(const std::filesystem::path& path) {
  const InputFile file(path);
  Xxh128 hash;
  std::vector<std::byte> piece(std::min<std::uint64_t>(file.size(), std::uint64_t{1} << 20));
  for (std::uint64_t offset = 0; offset < file.size();) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), file.size() - offset));
    file.read_at(offset, std::span(piece).first(count));
    hash.update(std::span<const std::byte>(piece).first(count));
    offset += count;
  }
  return hash.hex();
}

// xxhash allocates the state itself, since it must be aligned to 64 bytes.
struct Xxh128::State {
  State() : xxh(XXH3_createState()) {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(xxh);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { XXH3_freeState(xxh); }
  XXH3_state_t* xxh;
};

Xxh128::Xxh128() : state_(std::make_unique<State>()) {}
Xxh128::~Xxh128() = default;
Xxh128::Xxh128(Xxh128&&) noexcept = default;
Xxh128& Xxh128::operator=(Xxh128&&) noexcept = default;

void Xxh128::update(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

void Xxh128::update(std::string_view text) {
  update(std::as_bytes(std::span(text)));
}

void Xxh128::update_u64(std::uint64_t value) {
  std::array<std::byte, 8> bytes;
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
  update(bytes);
}

std::string Xxh128::hex() const {
  return hex128(XXH3_128bits_digest(state_->xxh));
}

std::uint64_t Xxh128::low64() const {
  return XXH3_128bits_digest(state_->xxh).low64;
}

std::string hex64(std::uint64_t value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, value >>= 4) text[i] = kDigits[value & 15];
  return text;
}

}  // namespace ddl
