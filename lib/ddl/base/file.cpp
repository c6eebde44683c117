#include "ddl/base/file.h"

#include "ddl/base/clock.h"
#include "ddl/base/error.h"
#include "ddl/base/units.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace ddl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryMark = ".ddl-tmp-";
constexpr std::size_t kBufferBytes = std::size_t{256} << 10;
// Linux moves at most 2 GiB - 4 KiB a call; smaller pieces cost nothing.
constexpr std::size_t kCallBytes = std::size_t{1} << 30;

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

std::optional<std::uint64_t> free_bytes_at(const fs::path& path) {
  struct statvfs space {};
  if (::statvfs(path.c_str(), &space) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
}

std::string bytes_text(std::uint64_t bytes) {
  return std::to_string(bytes) + " bytes (" + format_bytes(bytes) + ")";
}

Error write_error(const fs::path& path, std::uint64_t needed_bytes, int error_number) {
  std::string what = "cannot write";
  std::string remedy;
  if (error_number == ENOSPC || error_number == EDQUOT) {
    what += ", needed " + bytes_text(needed_bytes);
    if (const auto available = free_bytes_at(folder_of(path))) {
      what += ", free " + bytes_text(*available);
    }
    remedy = error_number == ENOSPC ? "free some space or write to another disk"
                                    : "raise the quota or write to another disk";
  } else if (error_number == EFBIG) {
    remedy = "raise the file size limit (ulimit -f)";
  }
  return system_failure(std::move(what), error_number, std::move(remedy)).with_file(path.string());
}

// Why a file could not be opened for reading: mostly a wrong path, hence bad_input.
Error open_error(const fs::path& path, int error_number) {
  const bool callers_fault = error_number == ENOENT || error_number == ENOTDIR ||
                             error_number == EACCES || error_number == ELOOP ||
                             error_number == ENAMETOOLONG || error_number == EISDIR;
  if (!callers_fault) {
    return system_failure("cannot open for reading", error_number).with_file(path.string());
  }
  std::string remedy = "check the path";
  if (error_number == EACCES) {
    remedy = "check the permissions";
  } else if (error_number == ENOENT) {
    std::error_code ignored;
    const fs::path folder = folder_of(path);
    if (!fs::exists(folder, ignored)) remedy = "the folder " + folder.string() + " does not exist";
  }
  return bad_input("cannot read: " + std::generic_category().message(error_number), remedy)
      .with_file(path.string());
}

int open_retrying(const fs::path& path, int flags, mode_t mode = 0) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

// Closes what an exception would leak.
class Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Not retried on EINTR: Linux has released the descriptor by then.
void close_checked(int descriptor, const fs::path& path) {
  if (::close(descriptor) != 0 && errno != EINTR) throw write_error(path, 0, errno);
}

void write_fully(int descriptor, const fs::path& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), std::min(bytes.size(), kCallBytes));
    if (count < 0) {
      if (errno == EINTR) continue;
      throw write_error(path, bytes.size(), errno);
    }
    // A regular file never takes 0 bytes without an error; a device that does would loop for ever.
    if (count == 0) throw write_error(path, bytes.size(), EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void fsync_checked(int descriptor, const fs::path& path, std::uint64_t written_bytes) {
  while (::fsync(descriptor) != 0) {
    if (errno == EINTR) continue;
    // Pipes, devices and some network file systems have nothing to sync.
    if (errno == EINVAL || errno == ENOTSUP) return;
    throw write_error(path, written_bytes, errno);
  }
}

template <typename Container>
Container read_whole(const fs::path& path, std::size_t limit_bytes) {
  const Descriptor file(open_retrying(path, O_RDONLY));
  if (file.get() < 0) throw open_error(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    throw system_failure("cannot read", errno).with_file(path.string());
  }
  if (S_ISDIR(status.st_mode)) throw open_error(path, EISDIR);
  const auto too_large = [&](std::uint64_t size, std::string_view prefix) {
    return bad_input("has " + std::string(prefix) + bytes_text(size) + ", more than the " +
                         bytes_text(limit_bytes) + " that such a file may have",
                     "check that this is the right file")
        .with_file(path.string());
  };
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > limit_bytes) throw too_large(size, "");

  // The size is a guess only: pipes and /proc report 0, and a file may be growing. One byte more
  // than expected lets the end be seen without another allocation.
  Container content;
  std::size_t used = 0;
  content.resize(static_cast<std::size_t>(size) + 1);
  for (;;) {
    if (used == content.size()) content.resize(content.size() * 2 + 4096);
    const ssize_t count =
        ::read(file.get(), content.data() + used, std::min(content.size() - used, kCallBytes));
    if (count < 0) {
      if (errno == EINTR) continue;
      throw system_failure("cannot read at byte " + std::to_string(used), errno)
          .with_file(path.string());
    }
    if (count == 0) break;
    used += static_cast<std::size_t>(count);
    if (used > limit_bytes) throw too_large(used, "at least ");
  }
  content.resize(used);
  return content;
}

struct Temporary {
  fs::path path;
  int descriptor;
};

Temporary create_temporary(const fs::path& folder, std::string_view name) {
  std::string start(1, '.');
  start += name.substr(0, 100);
  start += kTemporaryMark;
  start += std::to_string(::getpid()) + "-";
  const std::string host = host_name();
  // O_EXCL makes the counter safe between threads, and between processes that reuse a number.
  for (unsigned counter = 0;; ++counter) {
    fs::path path = folder / (start + std::to_string(counter) + "@" + host);
    const int descriptor = open_retrying(path, O_RDWR | O_CREAT | O_EXCL, 0666);
    if (descriptor >= 0 || errno != EEXIST) return {std::move(path), descriptor};
  }
}

// The process number in a temporary name of this host; nothing for any other name.
std::optional<pid_t> writer_of(std::string_view name, std::string_view host) {
  const std::size_t mark = name.rfind(kTemporaryMark);
  if (mark == std::string_view::npos || !name.starts_with('.')) return std::nullopt;
  const char* const end = name.data() + name.size();
  pid_t pid = 0;
  const auto after_pid = std::from_chars(name.data() + mark + kTemporaryMark.size(), end, pid);
  if (after_pid.ec != std::errc() || pid <= 0 || after_pid.ptr == end || *after_pid.ptr != '-') {
    return std::nullopt;
  }
  unsigned counter = 0;
  const auto after_counter = std::from_chars(after_pid.ptr + 1, end, counter);
  if (after_counter.ec != std::errc() || after_counter.ptr == end || *after_counter.ptr != '@') {
    return std::nullopt;
  }
  const char* const host_begin = after_counter.ptr + 1;
  if (std::string_view(host_begin, static_cast<std::size_t>(end - host_begin)) != host) {
    return std::nullopt;
  }
  return pid;
}

Error exists_error(const fs::path& target) {
  return bad_input("exists", "--force replaces it").with_file(target.string());
}

}  // namespace

OutputFile::OutputFile(fs::path target, bool overwrite)
    : target_(std::move(target)), overwrite_(overwrite) {
  std::error_code error;
  const fs::file_status status = fs::status(target_, error);
  if (fs::is_directory(status)) {
    throw bad_input("cannot write: is a folder", "give the name of a file")
        .with_file(target_.string());
  }
  if (target_.filename().empty()) {
    throw bad_input("cannot write: not the name of a file").with_file(target_.string());
  }
  in_place_ = fs::exists(status) && !fs::is_regular_file(status);
  if (in_place_) {
    // Renaming a file over /dev/null or a pipe would replace the device itself.
    temporary_ = target_;
    descriptor_ = open_retrying(target_, O_WRONLY);
    if (descriptor_ < 0) throw write_error(target_, 0, errno);
    return;
  }
  if (!overwrite_ && fs::exists(status)) throw exists_error(target_);

  // The name behind a link, so that the rename replaces the file and not the link.
  fs::path place = target_;
  if (fs::is_symlink(target_, error) && fs::exists(status)) place = fs::canonical(target_, error);
  if (error) place = target_;
  Temporary created = create_temporary(folder_of(place), place.filename().native());
  if (created.descriptor < 0) {
    const int error_number = errno;
    if (!fs::is_directory(folder_of(place), error)) {
      throw bad_input("cannot write: the folder " + folder_of(place).string() + " does not exist",
                      "create it first")
          .with_file(target_.string());
    }
    if (error_number == EACCES || error_number == EROFS) {
      throw bad_input("cannot write: " + std::generic_category().message(error_number),
                      "check the permissions of the folder")
          .with_file(target_.string());
    }
    throw write_error(target_, 0, error_number);
  }
  descriptor_ = created.descriptor;
  temporary_ = std::move(created.path);
  target_ = std::move(place);
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!committed_ && !in_place_) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() >= kBufferBytes) {
    write_fully(descriptor_, target_, bytes);
    written_bytes_ += bytes.size();
  } else {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
}

void OutputFile::write(std::string_view text) {
  write(std::as_bytes(std::span(text)));
}

void OutputFile::flush() {
  write_fully(descriptor_, target_, buffer_);
  written_bytes_ += buffer_.size();
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  fsync_checked(descriptor_, target_, written_bytes_);
  close_checked(std::exchange(descriptor_, -1), target_);
  if (in_place_) {
    committed_ = true;
    return;
  }
  bool renamed = false;
  if (!overwrite_) {
    // The target may have appeared since the constructor looked. Some file systems cannot rename
    // without replacing; there the check of the constructor has to do.
    renamed =
        ::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) == 0;
    if (!renamed && errno == EEXIST) throw exists_error(target_);
    if (!renamed && errno != EINVAL && errno != ENOSYS) throw write_error(target_, 0, errno);
  }
  if (!renamed && ::rename(temporary_.c_str(), target_.c_str()) != 0) {
    throw write_error(target_, 0, errno);
  }
  committed_ = true;
  fsync_folder(folder_of(target_));
}

std::string read_text(const fs::path& path, std::size_t limit_bytes) {
  return read_whole<std::string>(path, limit_bytes);
}

std::vector<std::byte> read_bytes(const fs::path& path, std::size_t limit_bytes) {
  return read_whole<std::vector<std::byte>>(path, limit_bytes);
}

void write_text_atomically(const fs::path& path, std::string_view text) {
  write_bytes_atomically(path, std::as_bytes(std::span(text)));
}

void write_bytes_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

InputFile::InputFile(fs::path path) : path_(std::move(path)) {
  descriptor_ = open_retrying(path_, O_RDONLY);
  if (descriptor_ < 0) throw open_error(path_, errno);
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  const int error_number = errno;
  if (known && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  ::close(std::exchange(descriptor_, -1));
  if (!known) throw system_failure("cannot read", error_number).with_file(path_.string());
  if (S_ISDIR(status.st_mode)) throw open_error(path_, EISDIR);
  throw bad_input("cannot read: not a regular file, and it must be read out of order")
      .with_file(path_.string());
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(std::exchange(other.size_, 0)) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  if (this != &other) {
    if (descriptor_ >= 0) ::close(descriptor_);
    path_ = std::move(other.path_);
    descriptor_ = std::exchange(other.descriptor_, -1);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  const auto range = [&] {
    return "bytes " + std::to_string(offset) + " to " + std::to_string(offset + out.size());
  };
  for (std::size_t done = 0; done < out.size();) {
    const ssize_t count =
        ::pread(descriptor_, out.data() + done, std::min(out.size() - done, kCallBytes),
                static_cast<off_t>(offset + done));
    if (count < 0) {
      if (errno == EINTR) continue;
      throw system_failure("cannot read " + range(), errno).with_file(path_.string());
    }
    if (count == 0) {
      // Asked again: it may have been cut since it was opened.
      struct stat status {};
      const bool known = ::fstat(descriptor_, &status) == 0;
      throw failure("cannot read " + range() + ": the file ends at byte " +
                        std::to_string(known ? static_cast<std::uint64_t>(status.st_size) : size_),
                    "it was cut short or changed; restore it from its source")
          .with_file(path_.string());
    }
    done += static_cast<std::size_t>(count);
  }
}

LineWriter::LineWriter(fs::path path, Mode mode) : path_(std::move(path)) {
  descriptor_ = open_retrying(
      path_, O_RDWR | O_CREAT | O_APPEND | (mode == Mode::truncate ? O_TRUNC : 0), 0666);
  if (descriptor_ < 0) throw write_error(path_, 0, errno);
  if (mode == Mode::truncate) return;
  struct stat status {};
  char last = '\n';
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
      ::pread(descriptor_, &last, 1, status.st_size - 1) == 1 && last != '\n') {
    try {
      write_line("");
    } catch (...) {
      ::close(descriptor_);
      throw;
    }
  }
}

LineWriter::~LineWriter() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void LineWriter::write_line(std::string_view line) {
  // One buffer and, as a rule, one call: a reader or a kill sees whole lines.
  std::string text(line);
  text += '\n';
  write_fully(descriptor_, path_, std::as_bytes(std::span(text)));
}

void LineWriter::sync() {
  fsync_checked(descriptor_, path_, 0);
}

void LineWriter::close() {
  if (descriptor_ < 0) return;
  sync();
  close_checked(std::exchange(descriptor_, -1), path_);
}

void require_writable_folder(const fs::path& folder, std::uint64_t needed_bytes) {
  const auto refuse = [&](const std::string& why, std::string remedy) {
    return bad_input(why, std::move(remedy)).with_file(folder.string());
  };
  if (folder.empty()) throw bad_input("the name of the folder to write to is empty");
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder)) {
    throw refuse("cannot create the folder: " +
                     (error ? error.message() : std::string("a file has that name")),
                 "choose another folder");
  }
  const Temporary probe = create_temporary(folder, "probe");
  if (probe.descriptor < 0) {
    throw refuse("cannot write to the folder: " + std::generic_category().message(errno),
                 "check its permissions or choose another folder");
  }
  const ssize_t count = ::write(probe.descriptor, "x", 1);
  const int error_number = errno;
  ::close(probe.descriptor);
  ::unlink(probe.path.c_str());
  if (count != 1) {
    throw refuse("cannot write to the folder: " + std::generic_category().message(error_number),
                 "free some space or choose another folder");
  }
  const auto available = free_bytes_at(folder);
  if (needed_bytes > 0 && available && *available < needed_bytes) {
    throw refuse(
        "not enough space: needed " + bytes_text(needed_bytes) + ", free " + bytes_text(*available),
        "free some space or choose another folder");
  }
}

void remove_stale_temporaries(const fs::path& folder) {
  const std::string host = host_name();
  std::error_code error;
  std::vector<fs::path> stale;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const auto writer = writer_of(entry->path().filename().native(), host);
    // EPERM means that the process lives and belongs to somebody else.
    if (writer && ::kill(*writer, 0) != 0 && errno == ESRCH) stale.push_back(entry->path());
  }
  for (const fs::path& path : stale) ::unlink(path.c_str());
}

fs::path confined_path(const fs::path& folder, std::string_view name) {
  const auto refuse = [&](const std::string& why) {
    return bad_input("the file name \"" + std::string(name) + "\" " + why,
                     "use a name inside the folder " + folder.string());
  };
  if (name.empty()) throw refuse("is empty");
  if (name.find('\0') != std::string_view::npos) throw refuse("holds a zero byte");
  const fs::path inner = fs::path(name).lexically_normal();
  if (inner.is_absolute()) throw refuse("is absolute");
  if (*inner.begin() == "..") throw refuse("leaves the folder");
  if (inner == ".") throw refuse("names the folder itself");
  return folder / inner;
}

void fsync_folder(const fs::path& folder) {
  const fs::path place = folder.empty() ? fs::path(".") : folder;
  const Descriptor descriptor(open_retrying(place, O_RDONLY | O_DIRECTORY));
  if (descriptor.get() < 0) {
    throw system_failure("cannot open the folder to sync it", errno).with_file(place.string());
  }
  fsync_checked(descriptor.get(), place, 0);
}

}  // namespace ddl
