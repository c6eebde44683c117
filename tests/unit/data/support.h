// What the tests of data share: small raw files and the data sets made from them.
#pragma once

#include "ddl/base/file.h"
#include "ddl/data/build.h"
#include "ddl/data/dataset.h"

#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "unit/base/support.h"
#include <gmock/gmock.h>

namespace ddl::test {

inline std::filesystem::path put(const std::filesystem::path& path, std::string_view text) {
  std::filesystem::create_directories(path.parent_path());
  write_text_atomically(path, text);
  return path;
}

// All rows of a field of a split, as T.
template <typename T>
std::vector<T> all_values(const Dataset& dataset, const std::string& split,
                          const std::string& field) {
  const Field& described = dataset.manifest().field(field);
  std::vector<std::int64_t> indices(static_cast<std::size_t>(dataset.manifest().samples(split)));
  std::iota(indices.begin(), indices.end(), 0);
  std::vector<T> out(indices.size() * static_cast<std::size_t>(element_count(described.shape)));
  dataset.read(split, field, indices, std::as_writable_bytes(std::span(out)));
  return out;
}

// Rows "i,label" with label = i % classes; feature value = index.
inline std::string counting_csv(int rows, int classes) {
  std::string out = "value,label\n";
  for (int i = 0; i < rows; ++i)
    out += std::to_string(i) + "," + std::to_string(i % classes) + "\n";
  return out;
}

inline BuildOptions csv_options(const std::filesystem::path& source,
                                const std::filesystem::path& output) {
  BuildOptions options;
  options.sources = {source};
  options.output = output;
  options.label = "last";
  options.threads = 1;
  return options;
}

}  // namespace ddl::test
