// Files: the one seam through which ddl reads and writes, so that every failed write, flush,
// fsync and close is seen, and nothing half-written is left under its final name.
//
// Writing: OutputFile writes to a temporary name beside the target; commit() flushes, fsyncs,
// closes, renames over the target and fsyncs the folder. Without commit() (an exception, say) the
// temporary file is removed. A killed process leaves at most a file named
//   .<name>.ddl-tmp-<pid>-<counter>@<host>
// (name: the target's, cut to 100 bytes; counter: the first free one, from 0), which
// remove_stale_temporaries() recognises. The host is there because a folder may be shared, and a
// process number says nothing on another machine.
//
// Errors: system_failure naming the file; a full disk or quota says how many bytes were needed and
// how many are free.
// Threads: one OutputFile has one owner; the free functions are safe from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

class OutputFile {
 public:
  // Creates the temporary file. The folder must exist. With overwrite false an existing target is
  // bad_input ("exists; --force replaces it"), here and again in commit(). A symbolic link is
  // followed. A target that is a device or pipe (/dev/null) is written in place.
  explicit OutputFile(std::filesystem::path target, bool overwrite = true);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  // Buffered: a full disk may show only in a later write or in commit().
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

  // The path to hand to a library that writes by itself (HDF5); commit() then fsyncs it.
  const std::filesystem::path& temporary_path() const { return temporary_; }
  const std::filesystem::path& target() const { return target_; }

 private:
  void flush();
  std::filesystem::path target_, temporary_;
  std::vector<std::byte> buffer_;
  std::uint64_t written_bytes_ = 0;
  int descriptor_ = -1;
  bool overwrite_ = true;
  bool in_place_ = false;
  bool committed_ = false;
};

// Whole files at once. read_* throw bad_input when the file is missing or not readable
// (what was looked for is named), and when it is larger than `limit_bytes`.
std::string read_text(const std::filesystem::path& path,
                      std::size_t limit_bytes = std::size_t{1} << 30);
std::vector<std::byte> read_bytes(const std::filesystem::path& path,
                                  std::size_t limit_bytes = std::size_t{1} << 40);
void write_text_atomically(const std::filesystem::path& path, std::string_view text);
void write_bytes_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);

// A read-only descriptor with positioned reads; safe to share between threads.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path);
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();
  std::uint64_t size() const { return size_; }
  // Reads exactly out.size() bytes at offset; a shorter file is failure naming file and range.
  void read_at(std::uint64_t offset, std::span<std::byte> out) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

// Appends one line and flushes it to the kernel (metrics.jsonl); checked. When the last line of an
// existing file was cut short by a killed writer, appending begins on a new line.
class LineWriter {
 public:
  enum class Mode { truncate, append };
  LineWriter(std::filesystem::path path, Mode mode);
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;
  ~LineWriter();
  void write_line(std::string_view line);
  void sync();
  // Syncs and closes, and reports what the destructor would have to swallow.
  void close();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

// Proves before the work begins that a folder can be made and written: creates it (with parents),
// writes and removes a probe, and checks for `needed_bytes` of free space. bad_input otherwise.
void require_writable_folder(const std::filesystem::path& folder, std::uint64_t needed_bytes = 0);

// Removes files left by killed writers of this host (the name above, process gone) from a folder.
// Best effort: what cannot be removed stays, and a missing folder is no error.
void remove_stale_temporaries(const std::filesystem::path& folder);

// Joins a name from an untrusted file to a folder; bad_input if it is absolute, empty, or leaves
// the folder through "..". The result is normalised. Symbolic links inside the folder are trusted.
std::filesystem::path confined_path(const std::filesystem::path& folder, std::string_view name);

void fsync_folder(const std::filesystem::path& folder);

}  // namespace ddl
