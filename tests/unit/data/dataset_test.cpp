#include <algorithm>
#include <atomic>
#include <thread>

#include "unit/data/support.h"

namespace ddl {
namespace {

// Value = row number, in shards of a few kilobytes.
class DatasetTest : public ::testing::Test {
 protected:
  DatasetTest() {
    BuildOptions options =
        test::csv_options(test::put(folder_ / "n.csv", test::counting_csv(5000, 3)), folder_ / "d");
    options.shard_bytes = 8192;
    build_dataset(options);
  }
  test::TemporaryFolder folder_;
};

TEST_F(DatasetTest, EveryIndexAppearsOnceOverAllSplits) {
  const Dataset dataset(folder_ / "d");
  ASSERT_GT(dataset.manifest().shards.size(), 5U);
  std::vector<float> all;
  for (const char* split : {"train", "val", "test"}) {
    const auto values = test::all_values<float>(dataset, split, "x");
    const auto labels = test::all_values<std::int64_t>(dataset, split, "y");
    ASSERT_EQ(values.size(), labels.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(static_cast<std::int64_t>(values[i]) % 3, labels[i]);
    all.insert(all.end(), values.begin(), values.end());
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), 5000U);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<float>(i));
}

TEST_F(DatasetTest, AnyOrderAndRepeatsGiveTheSameRows) {
  const Dataset dataset(folder_ / "d", 1000);
  const auto all = test::all_values<float>(dataset, "train", "x");
  const std::vector<std::int64_t> wanted{3999, 0, 17, 17, 2000, 3999};
  std::vector<float> out(wanted.size());
  dataset.read("train", "x", wanted, std::as_writable_bytes(std::span(out)));
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_EQ(out[i], all[static_cast<std::size_t>(wanted[i])]);
}

TEST_F(DatasetTest, ManyThreadsWithASmallCacheReadTheSame) {
  const Dataset dataset(folder_ / "d", 5000);
  const std::vector<float> all = test::all_values<float>(Dataset(folder_ / "d"), "train", "x");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t i = 0; i < 1000; ++i) {
        const std::int64_t index = (i * 37 + t * 911) % 4000;
        float value = -1;
        dataset.read("train", "x", {&index, 1}, std::as_writable_bytes(std::span(&value, 1)));
        if (value != all[static_cast<std::size_t>(index)]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(DatasetTest, WhatDoesNotExistIsNamed) {
  const Dataset dataset(folder_ / "d");
  float value = 0;
  const auto read = [&](const char* split, const char* field, std::int64_t index) {
    return std::string(
        test::error_of([&] {
          dataset.read(split, field, {&index, 1}, std::as_writable_bytes(std::span(&value, 1)));
        }).what());
  };
  EXPECT_THAT(read("train", "x", 4000), testing::HasSubstr("4000"));
  EXPECT_THAT(read("train", "x", -1), testing::HasSubstr("-1"));
  EXPECT_THAT(read("dev", "x", 0), testing::HasSubstr("dev"));
  EXPECT_THAT(read("train", "z", 0), testing::HasSubstr("'z'"));
  EXPECT_THROW(Dataset(folder_ / "nowhere"), Error);
}

TEST_F(DatasetTest, ADamagedChunkNamesShardFieldChunkAndRange) {
  const std::filesystem::path shard = folder_ / "d" / "train-00001.h5";
  std::vector<std::byte> bytes = read_bytes(shard);
  // The stored chunk of x is the first zstd frame after the metadata.
  const std::byte magic[] = {std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f}, std::byte{0xfd}};
  auto frame = std::search(bytes.begin(), bytes.end(), std::begin(magic), std::end(magic));
  ASSERT_NE(frame, bytes.end());
  frame[8] ^= std::byte{1};
  write_bytes_atomically(shard, bytes);
  const Dataset dataset(folder_ / "d");
  const Error error = test::error_of([&] { test::all_values<float>(dataset, "train", "x"); });
  EXPECT_EQ(error.kind(), ErrorKind::failure);
  EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("train-00001.h5"),
                                           testing::HasSubstr("field x, chunk 0, bytes ")));
  const VerifyReport report = verify_dataset(folder_ / "d", 1);
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_THAT(report.problems[0], testing::AllOf(testing::HasSubstr("train-00001.h5"),
                                                 testing::HasSubstr("field x, chunk 0, bytes ")));
}

TEST_F(DatasetTest, AShortenedShardIsRefused) {
  std::filesystem::resize_file(folder_ / "d" / "train-00000.h5", 4000);
  const Dataset dataset(folder_ / "d");
  const Error error = test::error_of([&] { test::all_values<float>(dataset, "train", "x"); });
  EXPECT_THAT(error.what(), testing::HasSubstr("train-00000.h5"));
}

TEST_F(DatasetTest, VerifyFindsEveryFlippedByte) {
  EXPECT_TRUE(verify_dataset(folder_ / "d", 2).problems.empty());
  const std::filesystem::path shard = folder_ / "d" / "val-00000.h5";
  const std::vector<std::byte> whole = read_bytes(shard);
  for (std::size_t i = 0; i < whole.size(); i += 997) {
    std::vector<std::byte> damaged = whole;
    damaged[i] ^= std::byte{0x10};
    write_bytes_atomically(shard, damaged);
    const VerifyReport report = verify_dataset(folder_ / "d", 1);
    ASSERT_FALSE(report.problems.empty()) << "byte " << i;
    EXPECT_THAT(report.problems[0], testing::HasSubstr("val-00000.h5"));
  }
}

TEST_F(DatasetTest, VerifyFindsAMissingShardAndSwappedSplits) {
  std::filesystem::rename(folder_ / "d" / "val-00000.h5", folder_ / "d" / "other");
  EXPECT_THAT(verify_dataset(folder_ / "d", 1).problems[0], testing::HasSubstr("val-00000.h5"));
}

}  // namespace
}  // namespace ddl
