// Named arrays in one file, in the safetensors layout: 8 bytes little-endian header length n, n
// bytes of JSON {"NAME": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, …}, then
// the raw values, row-major, little-endian, in the order of their offsets.
//
// Errors: failure naming the file when writing; bad_input naming file and tensor when reading:
// every size and offset is checked before use. Threads: free functions without state.
#pragma once

#include "ddl/base/dtype.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace ddl {

struct NamedArray {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;
};

struct StoredArray {
  DType dtype = DType::f32;
  Shape shape;
  std::span<const std::byte> bytes;  // into the buffer that was parsed
};

// Writes the file (atomically) and returns its XXH3-128 in hex.
std::string write_safetensors(const std::vector<NamedArray>& arrays,
                              const std::filesystem::path& file);
// Views into `file_bytes`, which must outlive them. `file` is for messages.
std::map<std::string, StoredArray> parse_safetensors(std::span<const std::byte> file_bytes,
                                                     const std::filesystem::path& file);
// Bytes the file will take, but for a header of some hundred bytes a tensor.
std::uint64_t safetensors_bytes(const std::vector<NamedArray>& arrays);

}  // namespace ddl
