// A raw file as its readers see it: gzip is recognised by content and unpacked once into an
// unnamed scratch file, so that every format can seek and be read twice in bounded memory.
#pragma once

#include "ddl/base/file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ddl {

class SourceFile {
 public:
  // `scratch` holds the unpacked copy while it is open.
  SourceFile(std::filesystem::path path, const std::filesystem::path& scratch);
  std::uint64_t size() const { return file_->size(); }          // unpacked
  std::uint64_t stored_bytes() const { return stored_bytes_; }  // on disk
  void read_at(std::uint64_t offset, std::span<std::byte> out) const {
    file_->read_at(offset, out);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::uint64_t stored_bytes_ = 0;
  std::optional<InputFile> file_;
};

// The first bytes of a file (at most `count`), unpacked when it is gzip.
std::string file_head(const std::filesystem::path& path, std::size_t count);
bool is_gzip(std::string_view head);

// Reads a source file from its start by lines. A line ends with LF; its CR is left to the caller.
class LineSource {
 public:
  explicit LineSource(const SourceFile& file) : file_(file) {}
  // The next line with its LF (the last may lack it); false at the end. Lines over 64 MiB come in
  // pieces, the first of them without LF.
  bool next(std::string_view& line);
  std::int64_t number() const { return number_; }  // of the line given last, from 1
  void rewind();

 private:
  const SourceFile& file_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::uint64_t offset_ = 0;
  std::int64_t number_ = 0;
  bool whole_ = true;  // the last line given was whole
};

// Removes a UTF-8 byte order mark from the head of a text; refuses UTF-16 with a hint.
std::string_view without_byte_order_mark(std::string_view text, const std::filesystem::path& file);

}  // namespace ddl
