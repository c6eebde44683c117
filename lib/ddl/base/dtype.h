// Element types shared by data, models and communication, with their names in files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

enum class DType : std::uint8_t { f32, f64, bf16, f16, u8, i8, u16, i16, i32, i64, boolean };

// A shape lists extents from the outermost to the innermost axis; {} is a scalar.
using Shape = std::vector<std::int64_t>;

std::size_t dtype_bytes(DType dtype);
// "float32", "bfloat16", "uint8", …: the names used in every JSON artifact (numpy's names).
std::string_view dtype_name(DType dtype);
// Throws bad_input naming the nearest known type.
DType parse_dtype(std::string_view name);

// Product of extents; 1 for a scalar. Throws bad_input on a negative extent or overflow of int64.
std::int64_t element_count(const Shape& shape);
// "3x32x32"; "scalar" for {}.
std::string shape_text(const Shape& shape);

// bfloat16 <-> float32; to bf16 rounds to nearest even, NaN stays NaN.
std::uint16_t to_bf16(float value);
float from_bf16(std::uint16_t bits);

}  // namespace ddl
