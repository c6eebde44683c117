#include "ddl/base/dtype.h"

#include "ddl/base/error.h"

#include <array>
#include <bit>
#include <limits>

namespace ddl {
namespace {

struct TypeInfo {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};

// In the order of the enumeration.
constexpr std::array<TypeInfo, 11> kTypes = {{
    {DType::f32, "float32", 4},
    {DType::f64, "float64", 8},
    {DType::bf16, "bfloat16", 2},
    {DType::f16, "float16", 2},
    {DType::u8, "uint8", 1},
    {DType::i8, "int8", 1},
    {DType::u16, "uint16", 2},
    {DType::i16, "int16", 2},
    {DType::i32, "int32", 4},
    {DType::i64, "int64", 8},
    {DType::boolean, "bool", 1},
}};

const TypeInfo& info_of(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  if (index >= kTypes.size()) {
    throw bad_input("unknown element type number " + std::to_string(index));
  }
  return kTypes[index];
}

}  // namespace

std::size_t dtype_bytes(DType dtype) {
  return info_of(dtype).bytes;
}

std::string_view dtype_name(DType dtype) {
  return info_of(dtype).name;
}

DType parse_dtype(std::string_view name) {
  std::array<std::string_view, kTypes.size()> names;
  std::string all;
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i].name == name) return kTypes[i].dtype;
    names[i] = kTypes[i].name;
    all += (i == 0 ? "" : ", ") + std::string(kTypes[i].name);
  }
  const std::string nearest = nearest_name(name, names.data(), names.data() + names.size());
  throw bad_input("unknown element type \"" + std::string(name) + "\"",
                  nearest.empty() ? "expected one of " + all : "did you mean " + nearest + "?");
}

std::int64_t element_count(const Shape& shape) {
  // A zero extent makes any product zero, but every extent is still checked.
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw bad_input("negative extent in shape " + shape_text(shape));
    if (extent == 0) empty = true;
  }
  if (empty) return 0;
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (count > std::numeric_limits<std::int64_t>::max() / extent) {
      throw bad_input("shape " + shape_text(shape) + " has more than 2^63 - 1 elements");
    }
    count *= extent;
  }
  return count;
}

std::string shape_text(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const std::int64_t extent : shape) {
    if (!text.empty()) text += 'x';
    text += std::to_string(extent);
  }
  return text;
}

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    // Keep the sign and the upper payload; set the quiet bit, since a payload that lives only in
    // the lower half would otherwise turn the NaN into an infinity.
    return static_cast<std::uint16_t>((bits >> 16) | 0x0040u);
  }
  // Nearest even: a tie (lower half exactly 0x8000) goes up only when the kept part is odd.
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float from_bf16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace ddl
