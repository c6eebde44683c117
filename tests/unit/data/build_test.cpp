#include <algorithm>

#include "unit/data/support.h"

namespace ddl {
namespace {

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    out.push_back(entry.path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

class BuildTest : public ::testing::Test {
 protected:
  BuildOptions options(const std::string& text) {
    return test::csv_options(test::put(folder_ / "in" / "n.csv", text), folder_ / "out" / "d");
  }
  test::TemporaryFolder folder_;
};

TEST_F(BuildTest, ThreadsAndRunsGiveTheSameBytes) {
  BuildOptions wanted = options(test::counting_csv(3000, 5));
  wanted.shard_bytes = 16384;
  build_dataset(wanted);
  std::map<std::string, std::vector<std::byte>> first;
  for (const std::string& name : names_in(wanted.output))
    first[name] = read_bytes(wanted.output / name);
  wanted.threads = 4;
  wanted.force = true;
  build_dataset(wanted);
  ASSERT_EQ(names_in(wanted.output).size(), first.size());
  for (const auto& [name, bytes] : first)
    EXPECT_EQ(read_bytes(wanted.output / name), bytes) << name;
}

TEST_F(BuildTest, MoreThreadsThanSamplesLoseNothing) {
  BuildOptions wanted = options("a,label\n0,0\n1,0\n2,0\n");
  wanted.threads = 16;
  wanted.val_fraction = wanted.test_fraction = 0;
  build_dataset(wanted);
  EXPECT_EQ(test::all_values<float>(Dataset(wanted.output), "train", "x"),
            (std::vector<float>{0, 1, 2}));
}

TEST_F(BuildTest, TheSeedAloneMovesTheSplits) {
  BuildOptions wanted = options(test::counting_csv(200, 2));
  const BuildReport first = build_dataset(wanted);
  wanted.force = true;
  EXPECT_EQ(build_dataset(wanted).manifest, first.manifest);
  wanted.seed = 2;
  const BuildReport second = build_dataset(wanted);
  EXPECT_NE(second.manifest.splits[0].ids_hash, first.manifest.splits[0].ids_hash);
  EXPECT_EQ(second.manifest.splits[0].samples, first.manifest.splits[0].samples);
}

TEST_F(BuildTest, AnExistingDataSetIsReplacedOnlyWithForce) {
  BuildOptions wanted = options("a,label\n1,0\n2,1\n");
  wanted.val_fraction = wanted.test_fraction = 0;
  build_dataset(wanted);
  const Error error = test::error_of([&] { build_dataset(wanted); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_THAT(error.what(), testing::HasSubstr("--force"));
  wanted.force = true;
  build_dataset(wanted);
  EXPECT_EQ(names_in(folder_ / "out"), std::vector<std::string>{"d"});
}

TEST_F(BuildTest, ForceDoesNotDeleteWhatIsNoDataSet) {
  BuildOptions wanted = options("a,label\n1,0\n2,1\n");
  test::put(folder_ / "out" / "d" / "thesis.tex", "years of work");
  wanted.force = true;
  EXPECT_THAT(test::error_of([&] { build_dataset(wanted); }).what(),
              testing::HasSubstr("not a data set"));
  EXPECT_EQ(read_text(folder_ / "out" / "d" / "thesis.tex"), "years of work");
}

TEST_F(BuildTest, AFailureLeavesNothingAndKeepsTheOldSet) {
  BuildOptions wanted = options("a,label\n1,0\n2,1\n");
  wanted.val_fraction = wanted.test_fraction = 0;
  build_dataset(wanted);
  const auto before = read_text(wanted.output / "dataset.json");
  test::put(folder_ / "in" / "n.csv", "a,label\n1,0\n2\n");
  wanted.force = true;
  EXPECT_THROW(build_dataset(wanted), Error);
  EXPECT_EQ(names_in(folder_ / "out"), std::vector<std::string>{"d"});
  EXPECT_EQ(read_text(wanted.output / "dataset.json"), before);
}

TEST_F(BuildTest, LeftoversOfAKilledRunAreRemoved) {
  BuildOptions wanted = options("a,label\n1,0\n2,1\n");
  wanted.val_fraction = wanted.test_fraction = 0;
  // No process has this number: the kernel's limit is 2^22.
  test::put(folder_ / "out" / ".d.ddl-tmp-99999999" / "train-00000.h5", "half");
  test::put(folder_ / "out" / ".d.ddl-tmp-1" / "train-00000.h5", "someone is alive");
  build_dataset(wanted);
  EXPECT_EQ(names_in(folder_ / "out"), (std::vector<std::string>{".d.ddl-tmp-1", "d"}));
}

TEST_F(BuildTest, DuplicatesAcrossSplitsAreCounted) {
  std::string text = "a,b,label\n";
  for (int i = 0; i < 100; ++i) text += "1,2," + std::to_string(i % 2) + "\n";
  const BuildReport report = build_dataset(options(text));
  EXPECT_EQ(report.duplicates_across_splits, 20);
  EXPECT_EQ(report.manifest.notes.size(), 2U);  // and the constant columns
  BuildOptions wanted = options(test::counting_csv(100, 2));
  wanted.force = true;
  EXPECT_EQ(build_dataset(wanted).duplicates_across_splits, 0);
}

TEST_F(BuildTest, ManifestNamesNoPlaceAndNoTime) {
  BuildOptions wanted = options(test::counting_csv(20, 2));
  const std::string text = dataset_manifest_text(build_dataset(wanted).manifest);
  EXPECT_THAT(text, testing::Not(testing::HasSubstr(folder_.path().string())));
  EXPECT_THAT(text, testing::HasSubstr("n.csv"));
}

TEST_F(BuildTest, OptionsOutOfRangeAreRefused) {
  const BuildOptions good = options(test::counting_csv(20, 2));
  const auto refuse = [&](const std::function<void(BuildOptions&)>& change) {
    BuildOptions wanted = good;
    change(wanted);
    EXPECT_EQ(test::error_of([&] { build_dataset(wanted); }).kind(), ErrorKind::bad_input);
  };
  refuse([](BuildOptions& o) { o.sources.clear(); });
  refuse([](BuildOptions& o) { o.shard_bytes = 1; });
  refuse([](BuildOptions& o) { o.zstd_level = 23; });
  refuse([](BuildOptions& o) { o.val_fraction = 1.5; });
  refuse([](BuildOptions& o) { o.format = "xml"; });
  refuse([](BuildOptions& o) { o.output = ""; });
  refuse([](BuildOptions& o) { o.split_sources["val"] = "/nowhere/at/all"; });
}

}  // namespace
}  // namespace ddl
