#include "ddl/data/readers/array.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace ddl {
namespace {

constexpr std::size_t kMaximumHeader = std::size_t{1} << 16;
constexpr double kWholeLimit = 9007199254740992.0;  // 2^53

struct ValueType {
  std::size_t width;
  bool is_float, is_signed;
};

const std::map<std::string, ValueType, std::less<>>& value_types() {
  static const std::map<std::string, ValueType, std::less<>> types = {
      {"bool", {1, false, false}},   {"uint8", {1, false, false}},  {"int8", {1, false, true}},
      {"uint16", {2, false, false}}, {"int16", {2, false, true}},   {"uint32", {4, false, false}},
      {"int32", {4, false, true}},   {"uint64", {8, false, false}}, {"int64", {8, false, true}},
      {"float32", {4, true, true}},  {"float64", {8, true, true}}};
  return types;
}

void set_type(ArrayHeader& header, const std::string& type) {
  const ValueType& found = value_types().at(type);
  header.type = type;
  header.width = found.width;
  header.is_float = found.is_float;
  header.is_signed = found.is_signed;
}

// The value of a key in the header's Python dictionary: the text up to the comma that ends it.
std::string_view dictionary_value(std::string_view text, std::string_view key) {
  const std::size_t found = text.find("'" + std::string(key) + "'");
  const std::size_t colon = found == std::string_view::npos ? found : text.find(':', found);
  if (colon == std::string_view::npos)
    throw bad_input("its .npy header has no '" + std::string(key) + "'");
  text.remove_prefix(colon + 1);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::size_t end = text.starts_with('(') ? text.find(')') + 1 : text.find_first_of(",}");
  return text.substr(0, end);
}

void parse_npy_type(std::string_view text, ArrayHeader& header) {
  if (text.starts_with("'|O") || text.find("'O'") != std::string_view::npos)
    throw bad_input("holds Python objects (a pickle), which are never opened",
                    "save plain numbers: numpy.save(file, array.astype('float32'))");
  const std::map<std::string_view, std::string> names = {
      {"b1", "bool"},  {"u1", "uint8"},   {"i1", "int8"},   {"u2", "uint16"},
      {"i2", "int16"}, {"u4", "uint32"},  {"i4", "int32"},  {"u8", "uint64"},
      {"i8", "int64"}, {"f4", "float32"}, {"f8", "float64"}};
  const bool quoted = text.size() == 5 && text.front() == '\'' && text.back() == '\'';
  const auto found = quoted ? names.find(text.substr(2, 2)) : names.end();
  if (found == names.end())
    throw bad_input("has NumPy type " + std::string(text) + ", which is not supported",
                    "supported: bool, integers, float32, float64");
  set_type(header, found->second);
  header.big_endian = text[1] == '>';
}

Shape parse_npy_shape(std::string_view text) {
  Shape out;
  std::int64_t value = -1;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      value = std::max<std::int64_t>(value, 0);
      if (value > std::numeric_limits<std::int64_t>::max() / 10 - 1)
        throw bad_input("its .npy shape is out of range");
      value = value * 10 + (c - '0');
    } else if (value >= 0) {
      out.push_back(value);
      value = -1;
    }
  }
  return out;
}

std::uint64_t load_bits(const std::byte* bytes, std::size_t width, bool big_endian) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const std::size_t place = big_endian ? width - 1 - i : i;
    bits |= std::to_integer<std::uint64_t>(bytes[place]) << (8 * i);
  }
  return bits;
}

double to_double(std::uint64_t bits, const ArrayHeader& header) {
  if (header.is_float)
    return header.width == 4 ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                             : std::bit_cast<double>(bits);
  if (!header.is_signed) return static_cast<double>(bits);
  const auto shift = static_cast<int>(64 - 8 * header.width);
  return static_cast<double>(static_cast<std::int64_t>(bits << shift) >> shift);
}

}  // namespace

ArrayHeader parse_idx_header(std::string_view head) {
  const std::map<char, std::string> types = {{'\x08', "uint8"},   {'\x09', "int8"},
                                             {'\x0b', "int16"},   {'\x0c', "int32"},
                                             {'\x0d', "float32"}, {'\x0e', "float64"}};
  if (head.size() < 4 || head[0] != 0 || head[1] != 0 || !types.contains(head[2]))
    throw bad_input("does not start with an IDX magic number");
  ArrayHeader header;
  set_type(header, types.at(head[2]));
  header.big_endian = true;
  const auto rank = static_cast<std::size_t>(static_cast<unsigned char>(head[3]));
  if (rank < 1 || rank > 8 || head.size() < 4 + 4 * rank)
    throw bad_input("its IDX header is cut short or has " + std::to_string(rank) + " axes");
  for (std::size_t i = 0; i < rank; ++i) {
    const auto* bytes = reinterpret_cast<const std::byte*>(head.data()) + 4 + 4 * i;
    header.shape.push_back(static_cast<std::int64_t>(load_bits(bytes, 4, true)));
  }
  header.offset = 4 + 4 * rank;
  return header;
}

ArrayHeader parse_npy_header(std::string_view head) {
  const bool magic = head.size() >= 12 && head.starts_with("\x93NUMPY");
  const int version = magic ? static_cast<unsigned char>(head[6]) : 0;
  if (version < 1 || version > 3) throw bad_input("is not a .npy file of version 1 to 3");
  const std::size_t width = version == 1 ? 2 : 4;
  const auto size = static_cast<std::size_t>(
      load_bits(reinterpret_cast<const std::byte*>(head.data()) + 8, width, false));
  if (size > head.size() - 8 - width)
    throw bad_input("its .npy header is cut short or over 64 KiB");
  const std::string_view text = head.substr(8 + width, size);
  ArrayHeader header;
  header.offset = 8 + width + size;
  parse_npy_type(dictionary_value(text, "descr"), header);
  header.fortran = dictionary_value(text, "fortran_order").starts_with("True");
  header.shape = parse_npy_shape(dictionary_value(text, "shape"));
  if (header.shape.empty() || header.shape.size() > 8)
    throw bad_input("has " + std::to_string(header.shape.size()) + " axes, expected 1 to 8");
  return header;
}

ArrayFile::ArrayFile(const std::filesystem::path& path, const std::filesystem::path& scratch) try
    : file_(path, scratch) {
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(file_.size(), kMaximumHeader)),
                   '\0');
  file_.read_at(0, std::as_writable_bytes(std::span(head)));
  header_ = head.starts_with("\x93NUMPY") ? parse_npy_header(head) : parse_idx_header(head);
  const std::int64_t values = element_count(header_.shape);
  const auto width = static_cast<std::int64_t>(header_.width);
  if (values > (std::numeric_limits<std::int64_t>::max() - (1 << 20)) / width)
    throw bad_input("its header claims " + shape_text(header_.shape) + " values, too many");
  const std::uint64_t expected = header_.offset + static_cast<std::uint64_t>(values * width);
  if (file_.size() != expected)
    throw bad_input("its header claims " + shape_text(header_.shape) + " of " + header_.type +
                        ", " + std::to_string(expected) + " bytes, but there are " +
                        std::to_string(file_.size()),
                    "the file is damaged; fetch it again");
  if (rows() == 0) throw bad_input("holds no samples");
  row_values_ = values / rows();
} catch (Error& error) {
  throw error.with_file(path.string());
}

void ArrayFile::read_rows(std::int64_t first, std::int64_t count, std::vector<double>& out) const {
  const std::size_t width = header_.width;
  const auto wanted = static_cast<std::size_t>(count),
             values = static_cast<std::size_t>(row_values_);
  std::vector<std::byte> raw(wanted * values * width);
  if (!header_.fortran) {
    file_.read_at(header_.offset + static_cast<std::uint64_t>(first) * values * width, raw);
  } else {
    // Fortran order: the samples of one value lie side by side, one run of `count` per value.
    for (std::size_t v = 0; v < values; ++v) {
      const std::uint64_t place =
          static_cast<std::uint64_t>(v) * static_cast<std::uint64_t>(rows()) +
          static_cast<std::uint64_t>(first);
      file_.read_at(header_.offset + place * width,
                    std::span(raw).subspan(v * wanted * width, wanted * width));
    }
  }
  out.resize(wanted * values);
  for (std::size_t s = 0; s < wanted; ++s) {
    for (std::size_t v = 0; v < values; ++v) {
      std::size_t source = s * values + v;
      if (header_.fortran) {
        // Row-major value number v to its column-major number, inside one sample.
        std::size_t left = v, number = 0;
        for (std::size_t axis = header_.shape.size(); axis-- > 1;) {
          const auto extent = static_cast<std::size_t>(header_.shape[axis]);
          std::size_t stride = 1;
          for (std::size_t before = 1; before < axis; ++before)
            stride *= static_cast<std::size_t>(header_.shape[before]);
          number += left % extent * stride;
          left /= extent;
        }
        source = number * wanted + s;
      }
      const double value =
          to_double(load_bits(raw.data() + source * width, width, header_.big_endian), header_);
      if (!header_.is_float && std::abs(value) > kWholeLimit)
        throw bad_input("sample " + std::to_string(first + static_cast<std::int64_t>(s)) +
                        " holds an integer beyond 2^53")
            .with_file(path().string());
      out[s * values + v] = value;
    }
  }
}

}  // namespace ddl
