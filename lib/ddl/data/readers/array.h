// Arrays in files: the header of IDX and .npy, and positioned reads of rows in C order and host
// byte order whatever the file has.
//
// IDX: 00 00 TYPE RANK, RANK big-endian uint32 extents, big-endian values. The length of the file
// must be what the header says. .npy (versions 1 to 3): Fortran order and byte order are honoured;
// object arrays (pickles) are refused and never opened.
#pragma once

#include "ddl/base/dtype.h"
#include "ddl/data/readers/source_file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace ddl {

struct ArrayHeader {
  std::string type;       // "uint8", "float32", "int64", "bool", …
  std::size_t width = 1;  // bytes of a value
  bool is_float = false, is_signed = false;
  bool big_endian = false;
  bool fortran = false;
  Shape shape;               // axis 0 = sample
  std::uint64_t offset = 0;  // of the first value
};

class ArrayFile {
 public:
  ArrayFile(const std::filesystem::path& path, const std::filesystem::path& scratch);
  const ArrayHeader& header() const { return header_; }
  std::int64_t rows() const { return header_.shape.front(); }
  std::int64_t row_values() const { return row_values_; }
  std::uint64_t stored_bytes() const { return file_.stored_bytes(); }
  const std::filesystem::path& path() const { return file_.path(); }
  // Rows [first, first + count) as doubles; integers beyond 2^53 are bad_input.
  void read_rows(std::int64_t first, std::int64_t count, std::vector<double>& out) const;

 private:
  SourceFile file_;
  ArrayHeader header_;
  std::int64_t row_values_ = 1;
};

// Header parsers; `head` is the start of the file. Throw bad_input without the file's name.
ArrayHeader parse_idx_header(std::string_view head);
ArrayHeader parse_npy_header(std::string_view head);

}  // namespace ddl
