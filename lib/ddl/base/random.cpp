// How a stream's name becomes Philox input (fixed for ever: changing it changes every trained
// model):
//
//   key      = XXH3-64 of the bytes  seed (8, little-endian)
//                                    a >> 32, b >> 32, c >> 32 (4 each, little-endian)
//                                    purpose (as is)
//              key[0] = its low 32 bits, key[1] = its high 32 bits
//   counter  = { block number, low 32 bits of a, of b, of c }
//
// So within one seed and purpose, streams whose a, b, c are below 2^32 can never coincide, and all
// others coincide with the probability of a 64-bit hash. Should a stream use up its 2^32 blocks,
// the key's low word is incremented and the block number starts over. Words are taken from a block
// in the order 0, 1, 2, 3; a 64-bit number takes its low word first.
#include "ddl/base/random.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"

#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include <Random123/philox.h>

namespace ddl {
namespace {

// -Wpedantic knows no 128-bit integers, but every 64-bit target of GCC and Clang has them.
__extension__ typedef unsigned __int128 Uint128;

std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

void append_u32(std::string& bytes, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>((value >> (8 * i)) & 255u);
}

// The two functions below replace std::log and std::cos: those differ in the last bit between
// versions of libm and between processors with and without FMA, and normal numbers must have the
// same bits everywhere. Only exactly rounded operations are used, without contraction.

// ln(x) for 0 < x <= 1: x = m 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 atanh((m-1)/(m+1)).
double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < 0.5 * std::numbers::sqrt2) {
    m *= 2.0;
    --exponent;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double sum = 0.0;
  for (int k = 25; k >= 1; k -= 2) sum = sum * z + 1.0 / k;
  return 2.0 * s * sum + exponent * std::numbers::ln2;
}

// cos(2 pi u) for u in [0, 1): the quadrant is split off exactly, then Taylor on [-pi/4, pi/4].
double portable_cos_turns(double u) {
  const int quadrant = static_cast<int>(4.0 * u + 0.5);
  const double t = 2.0 * std::numbers::pi * (u - 0.25 * quadrant);
  const double z = t * t;
  double cosine = 1.0, sine = 1.0;
  for (int k = 18; k >= 2; k -= 2) cosine = 1.0 - cosine * z / (k * (k - 1));
  for (int k = 19; k >= 3; k -= 2) sine = 1.0 - sine * z / (k * (k - 1));
  sine *= t;
  switch (quadrant & 3) {
    case 0:
      return cosine;
    case 1:
      return -sine;
    case 2:
      return -cosine;
    default:
      return sine;
  }
}

}  // namespace

std::array<std::uint32_t, 4> philox_block(const std::array<std::uint32_t, 4>& counter,
                                          const std::array<std::uint32_t, 2>& key) {
  const r123::Philox4x32::ctr_type in = {{counter[0], counter[1], counter[2], counter[3]}};
  const r123::Philox4x32::key_type k = {{key[0], key[1]}};
  const r123::Philox4x32::ctr_type out = r123::Philox4x32()(in, k);
  return {out[0], out[1], out[2], out[3]};
}

Random::Random(std::uint64_t seed, std::string_view purpose, std::uint64_t a, std::uint64_t b,
               std::uint64_t c) {
  std::string name;
  append_u32(name, low(seed));
  append_u32(name, high(seed));
  append_u32(name, high(a));
  append_u32(name, high(b));
  append_u32(name, high(c));
  name += purpose;
  const std::uint64_t hash = xxh3_64(std::as_bytes(std::span(name)));
  key_ = {low(hash), high(hash)};
  counter_ = {0, low(a), low(b), low(c)};
}

void Random::refill() {
  block_ = philox_block(counter_, key_);
  if (++counter_[0] == 0) ++key_[0];
  used_ = 0;
}

std::uint32_t Random::next_u32() {
  if (used_ == 4) refill();
  return block_[used_++];
}

std::uint64_t Random::next_u64() {
  const std::uint64_t lower = next_u32();
  return lower | (static_cast<std::uint64_t>(next_u32()) << 32);
}

double Random::uniform() {
  return static_cast<double>(next_u64() >> 11) * 0x1p-53;
}

std::uint64_t Random::below(std::uint64_t bound) {
  if (bound == 0) throw bad_input("Random::below needs a bound above 0");
  // Lemire, "Fast random integer generation in an interval", 2019: the high half of a product is
  // unbiased once the low halves below 2^64 mod bound are drawn again.
  Uint128 product = static_cast<Uint128>(next_u64()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold) {
      product = static_cast<Uint128>(next_u64()) * bound;
    }
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Random::normal() {
  // 1 - uniform lies in (0, 1], so that the logarithm is finite.
  const double radius = std::sqrt(-2.0 * portable_log(1.0 - uniform()));
  return radius * portable_cos_turns(uniform());
}

std::vector<std::uint32_t> random_permutation(std::uint32_t count, Random random) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t i = count; i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::uint32_t>(random.below(i))]);
  }
  return order;
}

}  // namespace ddl
