#include "ddl/model/onnx/tensors.h"

#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/units.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

namespace ddl::onnx_io {
namespace {

using Type = onnx::TensorProto;

std::string quoted(const onnx::TensorProto& proto) {
  return "tensor '" + proto.name() + "'";
}

Shape shape_of(const onnx::TensorProto& proto) {
  if (proto.dims_size() > 16) throw bad_input(quoted(proto) + " has too many axes");
  Shape shape(proto.dims().begin(), proto.dims().end());
  element_count(shape);  // refuses negative extents and overflow
  return shape;
}

std::size_t stored_bytes(int type) {
  switch (type) {
    case Type::FLOAT:
    case Type::INT32:
      return 4;
    case Type::DOUBLE:
    case Type::INT64:
      return 8;
    case Type::FLOAT16:
    case Type::BFLOAT16:
    case Type::INT16:
    case Type::UINT16:
      return 2;
    default:
      return 1;
  }
}

float from_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float sign = (bits & 0x8000) != 0 ? -1.0F : 1.0F;
  if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
}

// Values stored as the given type to the host tensor's.
void convert(int type, std::span<const std::byte> stored, HostTensor& result) {
  const auto count = static_cast<std::size_t>(element_count(result.shape));
  if (type == Type::FLOAT16 || type == Type::BFLOAT16) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t bits = 0;
      std::memcpy(&bits, stored.data() + 2 * i, 2);
      result.as<float>()[i] = type == Type::FLOAT16 ? from_half(bits) : from_bf16(bits);
    }
  } else if (type == Type::DOUBLE) {
    for (std::size_t i = 0; i < count; ++i) {
      double value = 0;
      std::memcpy(&value, stored.data() + 8 * i, 8);
      result.as<float>()[i] = static_cast<float>(value);
    }
  } else if (count > 0) {
    std::memcpy(result.bytes.data(), stored.data(), result.bytes.size());
  }
}

// The values' bytes as a type's own, from whichever list ONNX keeps that type in.
template <class Stored, class List>
std::vector<std::byte> packed(const onnx::TensorProto& proto, const List& list) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(list.size()) * sizeof(Stored));
  for (int i = 0; i < list.size(); ++i) {
    const auto value = static_cast<Stored>(list[i]);
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(Stored), &value,
                sizeof(Stored));
  }
  if (bytes.empty() && element_count(shape_of(proto)) > 0) {
    throw bad_input(quoted(proto) + " has no values");
  }
  return bytes;
}

std::vector<std::byte> listed_values(const onnx::TensorProto& proto) {
  switch (proto.data_type()) {
    case Type::FLOAT:
      return packed<float>(proto, proto.float_data());
    case Type::DOUBLE:
      return packed<double>(proto, proto.double_data());
    case Type::INT64:
      return packed<std::int64_t>(proto, proto.int64_data());
    case Type::INT32:
      return packed<std::int32_t>(proto, proto.int32_data());
    case Type::FLOAT16:
    case Type::BFLOAT16:
    case Type::UINT16:
    case Type::INT16:
      return packed<std::uint16_t>(proto, proto.int32_data());
    default:
      return packed<std::uint8_t>(proto, proto.int32_data());
  }
}

std::vector<std::byte> external_values(const onnx::TensorProto& proto,
                                       const std::filesystem::path& folder, std::size_t expected) {
  std::string location;
  std::int64_t offset = 0, length = -1;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = parse_int(entry.value(), quoted(proto) + " offset");
    if (entry.key() == "length") length = parse_int(entry.value(), quoted(proto) + " length");
  }
  if (offset < 0 || (length >= 0 && static_cast<std::size_t>(length) != expected)) {
    throw bad_input(quoted(proto) + " names " + std::to_string(length) +
                    " bytes of external data, its shape needs " + std::to_string(expected));
  }
  const InputFile data(confined_path(folder, location));
  if (static_cast<std::uint64_t>(offset) > data.size() ||
      expected > data.size() - static_cast<std::uint64_t>(offset)) {
    throw bad_input(quoted(proto) + " lies beyond the end of '" + location + "' (" +
                    std::to_string(data.size()) + " bytes)");
  }
  std::vector<std::byte> bytes(expected);
  data.read_at(static_cast<std::uint64_t>(offset), bytes);
  return bytes;
}

}  // namespace

DType dtype_of(int onnx_type, const std::string& what) {
  switch (onnx_type) {
    case Type::FLOAT:
    case Type::DOUBLE:
    case Type::FLOAT16:
    case Type::BFLOAT16:
      return DType::f32;
    case Type::UINT8:
      return DType::u8;
    case Type::INT8:
      return DType::i8;
    case Type::UINT16:
      return DType::u16;
    case Type::INT16:
      return DType::i16;
    case Type::INT32:
      return DType::i32;
    case Type::INT64:
      return DType::i64;
    case Type::BOOL:
      return DType::boolean;
    default:
      break;
  }
  const std::string name =
      onnx::TensorProto_DataType_IsValid(onnx_type)
          ? onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(onnx_type))
          : std::to_string(onnx_type);
  throw bad_input(what + " has type " + name, "float32, int32 and int64 are supported");
}

int onnx_type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return Type::FLOAT;
    case DType::f64:
      return Type::DOUBLE;
    case DType::bf16:
      return Type::BFLOAT16;
    case DType::f16:
      return Type::FLOAT16;
    case DType::u8:
      return Type::UINT8;
    case DType::i8:
      return Type::INT8;
    case DType::u16:
      return Type::UINT16;
    case DType::i16:
      return Type::INT16;
    case DType::i32:
      return Type::INT32;
    case DType::i64:
      return Type::INT64;
    case DType::boolean:
      break;
  }
  return Type::BOOL;
}

std::shared_ptr<HostTensor> read_tensor(const onnx::TensorProto& proto,
                                        const std::filesystem::path& folder) {
  const DType dtype = dtype_of(proto.data_type(), quoted(proto));
  const Shape shape = shape_of(proto);
  const auto count = static_cast<std::size_t>(element_count(shape));
  const std::size_t unit = stored_bytes(proto.data_type());
  if (count > (std::size_t{1} << 40) / unit) throw bad_input(quoted(proto) + " is over 1 TiB");
  const bool external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  std::vector<std::byte> held;
  std::span<const std::byte> stored;
  if (external) {
    held = external_values(proto, folder, count * unit);
    stored = held;
  } else if (proto.has_raw_data()) {
    stored = std::as_bytes(std::span(proto.raw_data().data(), proto.raw_data().size()));
  } else {
    held = listed_values(proto);
    stored = held;
  }
  // Before anything is allocated by shape: a file may claim any.
  if (stored.size() != count * unit) {
    throw bad_input(quoted(proto) + " has " + std::to_string(stored.size()) +
                    " bytes of values, its shape " + shape_text(shape) + " needs " +
                    std::to_string(count * unit));
  }
  auto result = make_host_tensor(dtype, shape);
  convert(proto.data_type(), stored, *result);
  return result;
}

void write_tensor(onnx::TensorProto& proto, const std::string& name, const HostTensor& value,
                  const std::string& role) {
  proto.set_name(name);
  proto.set_data_type(onnx_type_of(value.dtype));
  for (const std::int64_t extent : value.shape) proto.add_dims(extent);
  proto.set_raw_data(value.bytes.data(), value.bytes.size());
  proto.set_doc_string(role);
}

void require_printable(const std::string& name, const std::string& what) {
  const bool printable = std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  if (name.size() > 4096 || !printable) {
    throw bad_input("the name of " + what + " is overlong or has control characters");
  }
}

double widened(float value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

}  // namespace ddl::onnx_io
