#include "ddl/data/readers/source_file.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include <zlib.h>

namespace ddl {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;
constexpr std::size_t kMaximumLine = std::size_t{64} << 20;

// zlib's reader with its errors turned into ours. Concatenated members are one stream.
class Gunzip {
 public:
  explicit Gunzip(const std::filesystem::path& path)
      : path_(path), file_(gzopen(path.c_str(), "rb")) {
    if (file_ == nullptr)
      throw bad_input("cannot be read: " + std::string(std::strerror(errno)))
          .with_file(path.string());
    gzbuffer(file_, static_cast<unsigned>(kBlock));
  }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;
  ~Gunzip() { gzclose_r(file_); }

  std::size_t read(void* out, std::size_t count) {
    const int got = gzread(file_, out, static_cast<unsigned>(count));
    int code = Z_OK;
    const char* message = gzerror(file_, &code);
    if (got < 0 || (code != Z_OK && code != Z_STREAM_END))
      throw bad_input("its gzip data is damaged or cut short" +
                          (message != nullptr && *message != 0 ? " (" + reason(message) + ")" : ""),
                      "fetch the file again")
          .with_file(path_.string());
    return static_cast<std::size_t>(got);
  }

 private:
  // zlib puts the path before its message; ours is there already.
  std::string reason(const std::string& message) const {
    const std::string prefix = path_.string() + ": ";
    return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
  }
  const std::filesystem::path path_;
  gzFile file_;
};

// A name that no other reader of this process uses.
std::filesystem::path scratch_name(const std::filesystem::path& folder) {
  for (int i = 0;; ++i) {
    std::filesystem::path name = folder / ("unpacked-" + std::to_string(i));
    if (!std::filesystem::exists(name)) return name;
  }
}

std::optional<InputFile> unpack(const std::filesystem::path& path,
                                const std::filesystem::path& scratch) {
  const std::filesystem::path name = scratch_name(scratch);
  OutputFile out(name);
  Gunzip in(path);
  std::vector<std::byte> block(kBlock);
  while (const std::size_t got = in.read(block.data(), block.size()))
    out.write(std::span(block).first(got));
  out.commit();
  std::optional<InputFile> file(std::in_place, name);
  // The open descriptor keeps the data; no name means nothing to clean up.
  std::filesystem::remove(name);
  return file;
}

}  // namespace

bool is_gzip(std::string_view head) {
  return head.size() >= 3 && head.starts_with("\x1f\x8b") && head[2] == 8;
}

std::string file_head(const std::filesystem::path& path, std::size_t count) {
  const InputFile file(path);
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), count)), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(head)));
  if (!is_gzip(head)) return head;
  Gunzip in(path);
  head.resize(count);
  head.resize(in.read(head.data(), head.size()));
  return head;
}

SourceFile::SourceFile(std::filesystem::path path, const std::filesystem::path& scratch)
    : path_(std::move(path)) {
  InputFile file(path_);
  stored_bytes_ = file.size();
  std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), 3)), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(head)));
  if (is_gzip(head))
    file_ = unpack(path_, scratch);
  else
    file_.emplace(std::move(file));
}

bool LineSource::next(std::string_view& line) {
  if (whole_) ++number_;
  std::size_t search_from = begin_;
  for (;;) {
    const std::size_t found = buffer_.find('\n', search_from);
    if (found != std::string::npos) {
      line = std::string_view(buffer_).substr(begin_, found + 1 - begin_);
      begin_ = found + 1;
      whole_ = true;
      return true;
    }
    const std::size_t started = buffer_.size() - begin_;
    const std::uint64_t left = file_.size() - offset_;
    if (left == 0 || started > kMaximumLine) {
      line = std::string_view(buffer_).substr(begin_);
      begin_ = buffer_.size();
      whole_ = left == 0;
      return !line.empty();
    }
    // Moves the started line to the front and reads on behind it.
    buffer_.erase(0, begin_);
    begin_ = 0;
    search_from = started;
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(left, kBlock));
    buffer_.resize(started + count);
    file_.read_at(offset_, std::as_writable_bytes(std::span(buffer_).subspan(started)));
    offset_ += count;
  }
}

void LineSource::rewind() {
  buffer_.clear();
  begin_ = 0;
  offset_ = 0;
  number_ = 0;
  whole_ = true;
}

std::string_view without_byte_order_mark(std::string_view text, const std::filesystem::path& file) {
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    throw bad_input("is UTF-16 text", "convert it: iconv -f UTF-16 -t UTF-8 IN > OUT")
        .with_file(file.string());
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  return text;
}

}  // namespace ddl
