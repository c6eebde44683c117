#include "ddl/profile/storage_probe.h"

#include "ddl/base/clock.h"
#include "ddl/base/error.h"
#include "ddl/base/random.h"
#include "ddl/base/units.h"
#include "ddl/profile/statistics.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace ddl::profile {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
constexpr std::size_t kPageBytes = 4096;  // O_DIRECT wants addresses and offsets in these
constexpr std::uint64_t kLargestFileBytes = std::uint64_t{512} << 20;

struct FreeDeleter {
  void operator()(std::byte* pointer) const { std::free(pointer); }
};
using PageBuffer = std::unique_ptr<std::byte, FreeDeleter>;

PageBuffer page_buffer() {
  auto* pointer = static_cast<std::byte*>(std::aligned_alloc(kPageBytes, kPieceBytes));
  if (pointer == nullptr) throw failure("no memory for a buffer of 4MiB");
  return PageBuffer(pointer);
}

class File {
 public:
  File(fs::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  File(File&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  const fs::path& path() const { return path_; }
  Error error(const std::string& what) const {
    return system_failure(what, errno).with_file(path_.string());
  }
  std::uint64_t size() const {
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0) throw error("cannot read the size");
    return static_cast<std::uint64_t>(status.st_size);
  }

 private:
  fs::path path_;
  int descriptor_;
};

// A file without a name in `folder`.
File unnamed_file(const fs::path& folder) {
  std::string name = (folder / ".ddl-profile-XXXXXX").string();
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0)
    throw bad_input(
        "cannot make a file to measure storage with: " + std::string(std::strerror(errno)),
        "name a folder that can be written with --storage")
        .with_file(folder.string());
  File file(folder, descriptor);
  ::unlink(name.c_str());
  return file;
}

// Random bytes, so that a file system that compresses or shares alike blocks gains nothing.
// Written until `size` or until the time is up.
void fill(const File& file, std::uint64_t size, const Clock& clock, double seconds) {
  const PageBuffer buffer = page_buffer();
  Random random(1, "profile storage");
  for (std::size_t i = 0; i < kPieceBytes; i += sizeof(std::uint64_t)) {
    const std::uint64_t value = random.next_u64();
    std::memcpy(buffer.get() + i, &value, sizeof(value));
  }
  const double start = clock();
  for (std::uint64_t at = 0; at < size; at += kPieceBytes) {
    for (std::size_t i = 0; i < kPieceBytes; i += kPageBytes) {
      const std::uint64_t value = random.next_u64();
      std::memcpy(buffer.get() + i, &value, sizeof(value));
    }
    std::size_t done = 0;
    while (done < kPieceBytes) {
      const ssize_t count = ::pwrite(file.get(), buffer.get() + done, kPieceBytes - done,
                                     static_cast<off_t>(at + done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        if (at > 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)) return;
        throw file.error("cannot write the file that storage is measured with");
      }
      done += static_cast<std::size_t>(count);
    }
    // Written out piece by piece: one fsync at the end may take longer than all the rest.
    if (::fdatasync(file.get()) != 0 && errno != EINVAL)
      throw file.error("cannot write the file that storage is measured with");
    if (clock() - start > seconds) return;
  }
}

enum class Way { direct, dropped, cached };

// Share of the file's first pieces that lies in the page cache.
double resident_share(const File& file, std::uint64_t size) {
  const std::size_t length = static_cast<std::size_t>(std::min<std::uint64_t>(size, kPieceBytes));
  void* pages = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, file.get(), 0);
  if (pages == MAP_FAILED) return 1;
  std::vector<unsigned char> flags((length + kPageBytes - 1) / kPageBytes, 1);
  const bool known = ::mincore(pages, length, flags.data()) == 0;
  ::munmap(pages, length);
  if (!known) return 1;
  const auto count = std::count_if(flags.begin(), flags.end(), [](auto f) { return (f & 1) != 0; });
  return static_cast<double>(count) / static_cast<double>(flags.size());
}

Way choose_way(const File& file, std::byte* buffer) {
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  const double left = resident_share(file, file.size());
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (left < 0.1 && flags >= 0 && ::fcntl(file.get(), F_SETFL, flags | O_DIRECT) == 0) {
    if (::pread(file.get(), buffer, kPieceBytes, 0) > 0) return Way::direct;
    ::fcntl(file.get(), F_SETFL, flags);
  }
  return left < 0.1 ? Way::dropped : Way::cached;
}

std::string_view way_text(Way way) {
  switch (way) {
    case Way::direct:
      return "direct";
    case Way::dropped:
      return "page cache dropped";
    case Way::cached:
      return "page cache";
  }
  return "";
}

// Reads a whole piece; the rate of the read. Throws when nothing is there.
double read_piece(const File& file, std::uint64_t at, std::byte* buffer) {
  const Stopwatch watch;
  std::size_t done = 0;
  while (done < kPieceBytes) {
    const ssize_t count =
        ::pread(file.get(), buffer + done, kPieceBytes - done, static_cast<off_t>(at + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw file.error("cannot read at byte " + std::to_string(at + done));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
    if (done % kPageBytes != 0) break;  // the end of the file
  }
  if (done == 0) throw failure("grew shorter while it was read").with_file(file.path().string());
  return static_cast<double>(done) / std::max(watch.seconds(), 1e-9);
}

// Pieces of one file in order, round and round; the last, partial one only when it is all there is.
class Reader {
 public:
  explicit Reader(std::vector<File> files) : files_(std::move(files)), buffer_(page_buffer()) {
    way_ = choose_way(files_.front(), buffer_.get());
    for (std::size_t i = 1; i < files_.size(); ++i)
      way_ = std::max(way_, choose_way(files_[i], buffer_.get()));
  }
  Way way() const { return way_; }

  double next() {
    const File& file = files_[file_];
    const double rate = read_piece(file, at_, buffer_.get());
    if (way_ != Way::cached)
      ::posix_fadvise(file.get(), static_cast<off_t>(at_), kPieceBytes, POSIX_FADV_DONTNEED);
    at_ += kPieceBytes;
    if (at_ + kPieceBytes > file.size()) {
      at_ = 0;
      file_ = (file_ + 1) % files_.size();
    }
    return rate;
  }

 private:
  std::vector<File> files_;
  PageBuffer buffer_;
  Way way_ = Way::cached;
  std::size_t file_ = 0;
  std::uint64_t at_ = 0;
};

std::vector<File> open_shards(const std::vector<fs::path>& shards, std::uint64_t& bytes) {
  constexpr std::size_t kMost = 64;  // open files
  std::vector<File> files;
  for (const fs::path& path : shards) {
    if (files.size() == kMost) break;
    File file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) throw file.error("cannot open for reading");
    if (file.size() < kPieceBytes) continue;
    bytes += file.size();
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace

StorageRate storage_read_rate(const std::vector<fs::path>& shards, const fs::path& folder,
                              const Clock& clock, double seconds) {
  std::uint64_t bytes = 0;
  std::vector<File> files = open_shards(shards, bytes);
  std::string what = "shards";
  const double start = clock();
  if (bytes < kEnoughShardBytes) {
    files.clear();
    files.push_back(unnamed_file(folder));
    struct statvfs space = {};
    std::uint64_t free_bytes = kLargestFileBytes;
    if (::fstatvfs(files.front().get(), &space) == 0)
      free_bytes = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
    fill(files.front(),
         std::clamp<std::uint64_t>(free_bytes / 10, 2 * kPieceBytes, kLargestFileBytes), clock,
         seconds / 2);
    bytes = files.front().size();
    what = "temporary file";
  }
  Reader reader(std::move(files));
  reader.next();  // warm-up
  StorageRate out;
  out.bytes_per_second =
      measured(repeat(clock, {seconds - (clock() - start), 3}, [&] { return reader.next(); }));
  out.how = std::string(way_text(reader.way())) + ", " + what + " of " + format_bytes(bytes);
  return out;
}

void require_storage_folder(const fs::path& folder) {
  std::error_code none;
  if (!fs::is_directory(folder, none))
    throw bad_input("is no folder", "--storage takes an existing folder")
        .with_file(folder.string());
  unnamed_file(folder);
}

}  // namespace ddl::profile
