// JSON inside this folder: hostile text in, stable text out. nlohmann's types stay in
// artifact/*.cpp.
//
// Reading refuses what readers of JSON disagree about or choke on: duplicate keys, numbers that are
// not finite in double, nesting deeper than kMaximumDepth, objects with more than kMaximumKeys
// keys, text larger than kMaximumBytes. Errors: bad_input with file, and line and column. Writing:
// 2-space indent, keys in the order they were added, shortest numbers that read back to the same
// bits, a newline at the end.
#pragma once

#include "ddl/base/error.h"

#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace ddl::artifact {

using Json = nlohmann::ordered_json;

inline constexpr std::size_t kMaximumBytes = std::size_t{256} << 20;
inline constexpr int kMaximumDepth = 64;
inline constexpr std::size_t kMaximumKeys = 4096;

Json parse_json(std::string_view text, const std::filesystem::path& file);

// The text of a document, checked against the schema of `format` before it is handed out: what is
// written can be read. bad_input names `file` and the pointer of a value that is not finite or out
// of range.
std::string document_text(std::string_view format, const Json& document,
                          const std::filesystem::path& file);

// A new document with its first two keys.
Json new_document(std::string_view format);

// Parses and validates a file of `format`; unknown keys are logged as warnings.
Json read_document(std::string_view format, const std::filesystem::path& file);
Json parse_document(std::string_view format, std::string_view text,
                    const std::filesystem::path& file);

// out = object[key] when present. The schema has made sure of the type.
template <class T>
void read(const Json& object, const char* key, T& out) {
  if (const auto found = object.find(key); found != object.end()) found->get_to(out);
}

// Values that may be not finite travel as null.
inline Json finite_or_null(double value) {
  return std::isfinite(value) ? Json(value) : Json();
}
inline double number_or_nan(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

// A broken rule that no schema can say.
[[noreturn]] inline void refuse(const std::filesystem::path& file, const std::string& pointer,
                                std::string what, std::string remedy = {}) {
  throw bad_input(std::move(what), std::move(remedy))
      .with_file(file.string())
      .with_pointer(pointer);
}

}  // namespace ddl::artifact
