#include "ddl/data/batch.h"

#include "unit/data/support.h"

namespace ddl {
namespace {

template <typename T>
std::vector<T> as(const std::vector<std::byte>& bytes) {
  std::vector<T> out(bytes.size() / sizeof(T));
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

class BatchTest : public ::testing::Test {
 protected:
  BuildOptions options(const std::string& text) {
    BuildOptions out = test::csv_options(test::put(folder_ / "b.csv", text), folder_ / "d");
    out.val_fraction = out.test_fraction = 0;
    return out;
  }
  test::TemporaryFolder folder_;
};

TEST_F(BatchTest, NumbersAreNormalisedAndCategoriesCoded) {
  build_dataset(options("a,town,b,label\n1,x,7,p\n3,y,7,q\n5,x,7,p\n"));
  const Dataset dataset(folder_ / "d");
  const BatchReader reader(dataset, "train");
  ASSERT_EQ(reader.inputs().size(), 2U);
  EXPECT_EQ(reader.inputs()[0].name, "x");
  EXPECT_EQ(reader.inputs()[1].dtype, DType::i32);
  EXPECT_EQ(reader.rows_per_sample(), 1);
  EXPECT_TRUE(reader.labels_are_classes());
  Batch batch;
  const std::vector<std::int64_t> ids{2, 0};
  reader.read(ids, batch);
  const auto scale = static_cast<float>(1 / std::sqrt(8.0 / 3));
  EXPECT_EQ(as<float>(batch.values[0]), (std::vector<float>{2 * scale, 0, -2 * scale, 0}));
  EXPECT_EQ(as<std::int32_t>(batch.values[1]), (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(as<std::int64_t>(batch.labels), (std::vector<std::int64_t>{0, 0}));
  EXPECT_EQ(batch.sample_ids, ids);
  EXPECT_EQ(batch.total_weight, 2);
}

TEST_F(BatchTest, ClassWeightsWeighTheirSamples) {
  build_dataset(options("a,label\n1,p\n2,q\n3,q\n"));
  const Dataset dataset(folder_ / "d");
  BatchReader reader(dataset, "train");
  EXPECT_THROW(reader.set_class_weights({1}), Error);
  reader.set_class_weights({0.5, 2});
  Batch batch;
  reader.read(std::vector<std::int64_t>{0, 1, 2}, batch);
  EXPECT_EQ(batch.weights, (std::vector<float>{0.5F, 2, 2}));
  EXPECT_EQ(batch.total_weight, 4.5);
}

TEST_F(BatchTest, TokensAreShiftedByOne) {
  BuildOptions wanted;
  wanted.sources = {test::put(folder_ / "t.txt", "abcdefg")};
  wanted.output = folder_ / "d";
  wanted.context = 3;
  wanted.val_fraction = wanted.test_fraction = 0;
  build_dataset(wanted);
  const Dataset dataset(folder_ / "d");
  const BatchReader reader(dataset, "train");
  EXPECT_EQ(reader.rows_per_sample(), 3);
  EXPECT_EQ(reader.inputs()[0].shape, Shape{3});
  Batch batch;
  reader.read(std::vector<std::int64_t>{1, 0}, batch);
  EXPECT_EQ(as<std::int32_t>(batch.values[0]), (std::vector<std::int32_t>{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(as<std::int64_t>(batch.labels), (std::vector<std::int64_t>{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(batch.weights.size(), 6U);
}

TEST_F(BatchTest, TargetsStayFloat) {
  BuildOptions wanted = options("a,label\n1,0.25\n2,-8\n");
  wanted.regression = true;
  build_dataset(wanted);
  const Dataset dataset(folder_ / "d");
  const BatchReader reader(dataset, "train");
  EXPECT_FALSE(reader.labels_are_classes());
  Batch batch;
  reader.read(std::vector<std::int64_t>{0, 1}, batch);
  EXPECT_EQ(as<float>(batch.labels), (std::vector<float>{0.25F, -8}));
}

TEST_F(BatchTest, BuffersAreReusedForAnySize) {
  build_dataset(options(test::counting_csv(100, 2)));
  const Dataset dataset(folder_ / "d");
  const BatchReader reader(dataset, "train");
  Batch batch;
  for (const std::size_t count : {10U, 3U, 0U, 100U}) {
    std::vector<std::int64_t> ids(count);
    std::iota(ids.begin(), ids.end(), 0);
    reader.read(ids, batch);
    EXPECT_EQ(as<float>(batch.values[0]).size(), count);
    EXPECT_EQ(batch.weights.size(), count);
    EXPECT_EQ(batch.total_weight, static_cast<double>(count));
  }
}

TEST_F(BatchTest, CodesOutsideOfTheirRangeAreNamed) {
  build_dataset(options("a,town,label\n1,x,p\n2,y,q\n3,y,r\n"));
  const DatasetManifest whole = read_dataset_manifest(folder_ / "d" / "dataset.json");
  Batch batch;
  const std::vector<std::int64_t> ids{0, 1, 2};
  {
    DatasetManifest fewer = whole;
    fewer.classes.pop_back();
    fewer.splits[0].class_counts = {1, 2};
    write_dataset_manifest(fewer, folder_ / "d" / "dataset.json");
    const Dataset dataset(folder_ / "d");
    const BatchReader reader(dataset, "train");
    EXPECT_THAT(test::error_of([&] { reader.read(ids, batch); }).what(),
                testing::HasSubstr("field y of sample 2 holds code 2"));
    EXPECT_THAT(verify_dataset(folder_ / "d", 1).problems,
                testing::Contains(testing::HasSubstr("label 2 is outside of 0..1")));
  }
  DatasetManifest fewer = whole;
  fewer.fields[1].categories[0].pop_back();
  write_dataset_manifest(fewer, folder_ / "d" / "dataset.json");
  const Dataset dataset(folder_ / "d");
  const BatchReader reader(dataset, "train");
  EXPECT_THAT(test::error_of([&] { reader.read(ids, batch); }).what(),
              testing::HasSubstr("field c of sample 1 holds code 1"));
}

TEST_F(BatchTest, UnknownSplitsAreNamed) {
  build_dataset(options("a,label\n1,p\n2,q\n"));
  const Dataset dataset(folder_ / "d");
  EXPECT_THAT(test::error_of([&] { BatchReader(dataset, "test"); }).what(),
              testing::HasSubstr("'test'"));
}

}  // namespace
}  // namespace ddl
