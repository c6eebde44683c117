#include "ddl/profile/storage_probe.h"

#include "unit/profile/support.h"
#include <gtest/gtest.h>

namespace ddl::profile {
namespace {

namespace fs = std::filesystem;

void write_file(const fs::path& path, std::size_t bytes) {
  std::ofstream out(path, std::ios::binary);
  const std::string piece(std::size_t{1} << 20, 'x');
  for (std::size_t done = 0; done < bytes; done += piece.size())
    out.write(piece.data(), static_cast<std::streamsize>(std::min(piece.size(), bytes - done)));
  ASSERT_TRUE(out.good());
}

void expect_plausible(const Measured& value) {
  EXPECT_GE(value.samples, 3);
  EXPECT_GT(value.low, 0);
  EXPECT_LE(value.low, value.median);
  EXPECT_LE(value.median, value.high);
}

// One of the three ways, and what was read.
void expect_how(const std::string& how, const std::string& what) {
  EXPECT_TRUE(how.starts_with("direct, ") || how.starts_with("page cache, ") ||
              how.starts_with("page cache dropped, "))
      << how;
  EXPECT_NE(how.find(what), std::string::npos) << how;
}

TEST(Storage, ReadsATemporaryFileAndLeavesNothing) {
  const test::TemporaryFolder folder;
  const StorageRate rate = storage_read_rate({}, folder.path(), test::stepping_clock(0.05), 0.5);
  expect_plausible(rate.bytes_per_second);
  expect_how(rate.how, "temporary file of ");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Storage, ReadsShardsThatHoldEnough) {
  const test::TemporaryFolder folder;
  const std::vector<fs::path> shards = {folder / "one", folder / "two"};
  write_file(shards[0], kEnoughShardBytes / 2 + 4096);
  write_file(shards[1], kEnoughShardBytes / 2 + 77);
  const StorageRate rate =
      storage_read_rate(shards, folder / "absent", test::stepping_clock(0.02), 2);
  expect_plausible(rate.bytes_per_second);
  expect_how(rate.how, "shards of ");
}

TEST(Storage, PassesOverSmallShards) {
  const test::TemporaryFolder folder;
  write_file(folder / "one", 1000);
  const StorageRate rate =
      storage_read_rate({folder / "one"}, folder.path(), test::stepping_clock(0.05), 0.5);
  expect_how(rate.how, "temporary file of ");
}

TEST(Storage, NamesAMissingShardAndAFolderThatCannotBeUsed) {
  const test::TemporaryFolder folder;
  const Error missing = test::error_of(
      [&] { storage_read_rate({folder / "gone"}, folder.path(), test::stepping_clock(1), 1); });
  EXPECT_NE(missing.file().find("gone"), std::string::npos) << missing.what();
  const Error none = test::error_of([&] { require_storage_folder(folder / "gone"); });
  EXPECT_EQ(none.kind(), ErrorKind::bad_input);
  EXPECT_NE(std::string(none.what()).find("--storage"), std::string::npos) << none.what();
  const Error procfs = test::error_of([] { require_storage_folder("/proc"); });
  EXPECT_EQ(procfs.kind(), ErrorKind::bad_input);
  require_storage_folder(folder.path());
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace ddl::profile
