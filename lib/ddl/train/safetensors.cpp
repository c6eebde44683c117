#include "ddl/train/safetensors.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <nlohmann/json.hpp>

namespace ddl {
namespace {

struct TypeName {
  DType dtype;
  const char* name;
};
constexpr TypeName kTypes[] = {{DType::f32, "F32"}, {DType::f64, "F64"},     {DType::bf16, "BF16"},
                               {DType::f16, "F16"}, {DType::u8, "U8"},       {DType::i8, "I8"},
                               {DType::u16, "U16"}, {DType::i16, "I16"},     {DType::i32, "I32"},
                               {DType::i64, "I64"}, {DType::boolean, "BOOL"}};

constexpr std::uint64_t kHeaderLimit = 100'000'000;  // as the format's own readers allow

}  // namespace

std::uint64_t safetensors_bytes(const std::vector<NamedArray>& arrays) {
  std::uint64_t total = 8;
  for (const NamedArray& array : arrays) total += array.bytes.size() + array.name.size() + 128;
  return total;
}

std::string write_safetensors(const std::vector<NamedArray>& arrays,
                              const std::filesystem::path& file) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::uint64_t offset = 0;
  for (const NamedArray& array : arrays) {
    const auto type =
        std::find_if(std::begin(kTypes), std::end(kTypes),
                     [&](const TypeName& known) { return known.dtype == array.dtype; });
    header[array.name] = {{"dtype", type->name},
                          {"shape", array.shape},
                          {"data_offsets", {offset, offset + array.bytes.size()}}};
    offset += array.bytes.size();
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');  // values start aligned

  Xxh128 hash;
  OutputFile out(file);
  const auto write = [&](std::span<const std::byte> bytes) {
    hash.update(bytes);
    out.write(bytes);
  };
  std::uint64_t length = text.size();
  std::byte length_bytes[8];
  for (std::byte& byte : length_bytes) {
    byte = static_cast<std::byte>(length & 0xFFU);
    length >>= 8;
  }
  write(length_bytes);
  write(std::as_bytes(std::span(text)));
  for (const NamedArray& array : arrays) write(array.bytes);
  out.commit();
  return hash.hex();
}

std::map<std::string, StoredArray> parse_safetensors(std::span<const std::byte> file_bytes,
                                                     const std::filesystem::path& file) {
  const auto damaged = [&](const std::string& what) {
    return bad_input("not a whole safetensors file: " + what).with_file(file.string());
  };
  if (file_bytes.size() < 8) throw damaged("shorter than 8 bytes");
  std::uint64_t length = 0;
  for (int i = 7; i >= 0; --i)
    length = length << 8 | std::to_integer<std::uint64_t>(file_bytes[static_cast<std::size_t>(i)]);
  if (length > kHeaderLimit || length > file_bytes.size() - 8)
    throw damaged("a header of " + std::to_string(length) + " bytes");
  const auto header_bytes = file_bytes.subspan(8, length);
  const auto values = file_bytes.subspan(8 + length);
  const auto* first = reinterpret_cast<const char*>(header_bytes.data());
  const auto header = nlohmann::json::parse(first, first + header_bytes.size(), nullptr, false);
  if (!header.is_object()) throw damaged("the header is not a JSON object");

  std::map<std::string, StoredArray> out;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    try {
      StoredArray array;
      const auto type_name = entry.at("dtype").get<std::string>();
      const auto type =
          std::find_if(std::begin(kTypes), std::end(kTypes),
                       [&](const TypeName& known) { return known.name == type_name; });
      if (type == std::end(kTypes)) throw damaged("type " + type_name + " of '" + name + "'");
      array.dtype = type->dtype;
      array.shape = entry.at("shape").get<Shape>();
      const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
      const auto elements = static_cast<std::uint64_t>(element_count(array.shape));
      if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > values.size() ||
          elements > values.size() ||
          offsets[1] - offsets[0] != elements * dtype_bytes(array.dtype))
        throw damaged("the place of '" + name + "'");
      array.bytes = values.subspan(offsets[0], offsets[1] - offsets[0]);
      out[name] = std::move(array);
    } catch (const nlohmann::json::exception&) {
      throw damaged("the entry of '" + name + "'");
    }
  }
  return out;
}

}  // namespace ddl
