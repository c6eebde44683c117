#include "ddl/data/readers/table.h"

#include "unit/data/support.h"

namespace ddl {
namespace {

TEST(ParseNumber, TakesNumbersAndNothingElse) {
  double value = 0;
  for (const auto& [text, expected] : std::vector<std::pair<std::string, double>>{
           {"0", 0}, {"-1.5", -1.5}, {"+2", 2}, {"1e3", 1000}, {".5", 0.5}, {"1e-400", 0}}) {
    EXPECT_EQ(parse_number(text, value), NumberKind::number) << text;
    EXPECT_EQ(value, expected) << text;
  }
  for (const char* text : {"", "x", "1x", "1,5", "0x10", "--1", "+-1", " 1", "1 "})
    EXPECT_EQ(parse_number(text, value), NumberKind::text) << text;
  for (const char* text : {"nan", "inf", "-inf", "1e400", "1e39"})
    EXPECT_EQ(parse_number(text, value), NumberKind::not_finite) << text;
}

TEST(SortLabels, ByValueWhenAllAreNumbersElseByBytes) {
  std::vector<std::string> numbers{"10", "2", "-1", "1.5"};
  sort_labels(numbers);
  EXPECT_EQ(numbers, (std::vector<std::string>{"-1", "1.5", "2", "10"}));
  std::vector<std::string> mixed{"b", "10", "2", "B"};
  sort_labels(mixed);
  EXPECT_EQ(mixed, (std::vector<std::string>{"10", "2", "B", "b"}));
}

class TableTest : public ::testing::Test {
 protected:
  BuildOptions options(const std::string& name, const std::string& text) {
    BuildOptions out = test::csv_options(test::put(folder_ / name, text), folder_ / "out");
    out.val_fraction = out.test_fraction = 0;
    out.force = true;
    return out;
  }
  std::string refusal(const BuildOptions& wanted) {
    return test::error_of([&] { build_dataset(wanted); }).what();
  }
  test::TemporaryFolder folder_;
};

TEST_F(TableTest, QuotesNewlinesAndCarriageReturns) {
  const BuildOptions wanted =
      options("q.csv", "a,b,label\r\n1,\"two\r\nlines, \"\"quoted\"\"\",x\r\n2,plain,y\r\n");
  build_dataset(wanted);
  const Dataset dataset(folder_ / "out");
  const Field& c = dataset.manifest().field("c");
  EXPECT_THAT(c.categories[0], testing::ElementsAre("plain", "two\r\nlines, \"quoted\""));
  EXPECT_EQ(test::all_values<std::int32_t>(dataset, "train", "c"),
            (std::vector<std::int32_t>{1, 0}));
}

TEST_F(TableTest, ColumnsOfTextBecomeCategoriesWhereverTheTextStands) {
  std::string text = "a,b,label\n";
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + "," + std::to_string(i % 3) + ",0\n";
  text += "odd,1,1\n";
  build_dataset(options("late.csv", text));
  const Dataset dataset(folder_ / "out");
  EXPECT_THAT(dataset.manifest().field("x").columns, testing::ElementsAre("b"));
  EXPECT_THAT(dataset.manifest().field("c").columns, testing::ElementsAre("a"));
  EXPECT_EQ(dataset.manifest().field("c").categories[0].size(), 51U);
}

TEST_F(TableTest, MissingNumbersBecomeTheTrainMean) {
  BuildOptions wanted = options("m.csv", "a,c,label\n1,p,x\n,,y\n5,q,x\n?,p,y\n");
  wanted.missing = {"?"};
  build_dataset(wanted);
  const Dataset dataset(folder_ / "out");
  EXPECT_EQ(test::all_values<float>(dataset, "train", "x"), (std::vector<float>{1, 3, 5, 3}));
  EXPECT_THAT(dataset.manifest().field("c").categories[0], testing::ElementsAre("", "p", "q"));
}

TEST_F(TableTest, OnlyTheEmptyCellIsMissing) {
  build_dataset(options("na.csv", "a,label\n1,NA\n2,EU\n"));
  EXPECT_THAT(Dataset(folder_ / "out").manifest().classes, testing::ElementsAre("EU", "NA"));
  EXPECT_THAT(refusal(options("nl.csv", "a,label\n1,x\n2,\n")),
              testing::AllOf(testing::HasSubstr("line 3"), testing::HasSubstr("missing")));
}

TEST_F(TableTest, NotFiniteValuesAreRefusedByLineUnlessListed) {
  for (const char* bad : {"nan", "inf", "1e400"}) {
    BuildOptions wanted = options("n.csv", "a,label\n1,x\n" + std::string(bad) + ",y\n3,x\n");
    EXPECT_THAT(refusal(wanted),
                testing::AllOf(testing::HasSubstr("line 3"), testing::HasSubstr(bad)));
    wanted.missing = {bad};
    build_dataset(wanted);
    EXPECT_EQ(test::all_values<float>(Dataset(folder_ / "out"), "train", "x"),
              (std::vector<float>{1, 2, 3}));
  }
}

TEST_F(TableTest, BrokenRowsAreNamedByLine) {
  EXPECT_THAT(refusal(options("r.csv", "a,b,label\n1,2,x\n\n1,2\n")), testing::HasSubstr("line 4"));
  EXPECT_THAT(refusal(options("u.csv", "a,label\n1,x\n2,\"open\n3,y\n")),
              testing::AllOf(testing::HasSubstr("line 3"), testing::HasSubstr("quote")));
  EXPECT_THAT(refusal(options("z.csv", std::string("a,label\n1,\0\n", 12))),
              testing::HasSubstr("NUL"));
  EXPECT_THAT(refusal(options("e.csv", "a,label\n")), testing::HasSubstr("no rows"));
}

TEST_F(TableTest, RegressionKeepsNumbers) {
  BuildOptions wanted = options("g.csv", "a,label\n1,0.5\n2,-3\n");
  wanted.regression = true;
  build_dataset(wanted);
  const Dataset dataset(folder_ / "out");
  EXPECT_EQ(dataset.manifest().task, LearningTask::regression);
  EXPECT_EQ(test::all_values<float>(dataset, "train", "y"), (std::vector<float>{0.5F, -3}));
  wanted = options("g2.csv", "a,label\n1,0.5\n2,no\n");
  wanted.regression = true;
  EXPECT_THAT(refusal(wanted), testing::HasSubstr("line 3"));
}

TEST_F(TableTest, ColumnsAreNamedNumberedFirstOrLast) {
  const std::string text = "k,a,b\n1,10,20\n2,11,21\n";
  for (const char* label : {"k", "1", "first"}) {
    BuildOptions wanted = options("c.csv", text);
    wanted.label = label;
    wanted.drop = {"b"};
    build_dataset(wanted);
    EXPECT_THAT(Dataset(folder_ / "out").manifest().field("x").columns, testing::ElementsAre("a"));
  }
  BuildOptions wanted = options("c.csv", text);
  wanted.label = "nobody";
  EXPECT_THAT(refusal(wanted), testing::HasSubstr("k, a, b"));
  wanted.label = "";
  EXPECT_THAT(refusal(wanted), testing::HasSubstr("--label"));
}

TEST_F(TableTest, RowsCanBeImages) {
  std::string text;
  for (int i = 0; i < 4; ++i) text += "0,128,255," + std::to_string(i) + ",7\n";
  BuildOptions wanted = options("i.csv", text);
  wanted.header = false;
  wanted.shape = {1, 2, 2};
  build_dataset(wanted);
  const Dataset dataset(folder_ / "out");
  EXPECT_EQ(dataset.manifest().field("x").kind, FieldKind::image);
  EXPECT_EQ(dataset.manifest().field("x").dtype, DType::u8);
  const auto values = test::all_values<std::uint8_t>(dataset, "train", "x");
  EXPECT_EQ(std::vector<std::uint8_t>(values.begin() + 4, values.begin() + 8),
            (std::vector<std::uint8_t>{0, 128, 255, 1}));
  wanted.shape = {1, 3, 2};
  EXPECT_THAT(refusal(wanted), testing::HasSubstr("--shape"));
}

constexpr const char* kArff = R"(% a comment
@RELATION 'credit risk'
@attribute amount numeric
@attribute 'home town' {'New York', Rome, "it's"}
@attribute grade {good, bad}
@data
100, Rome, good
% between
?, 'New York', bad
50, "it's", good
7,?,bad
)";

TEST_F(TableTest, ArffKeepsDeclaredValuesAndLabelsTheLastAttribute) {
  BuildOptions wanted = options("a.arff", kArff);
  wanted.label = "";
  build_dataset(wanted);
  const Dataset dataset(folder_ / "out");
  const DatasetManifest& manifest = dataset.manifest();
  EXPECT_EQ(manifest.source_format, "arff");
  EXPECT_THAT(manifest.classes, testing::ElementsAre("bad", "good"));
  EXPECT_THAT(manifest.field("c").categories[0],
              testing::ElementsAre("New York", "Rome", "it's", ""));
  EXPECT_EQ(test::all_values<std::int32_t>(dataset, "train", "c"),
            (std::vector<std::int32_t>{1, 0, 2, 3}));
  EXPECT_EQ(test::all_values<std::int64_t>(dataset, "train", "y"),
            (std::vector<std::int64_t>{1, 0, 1, 0}));
  EXPECT_NEAR(test::all_values<float>(dataset, "train", "x")[1], (100 + 50 + 7) / 3.0, 1e-5);
}

TEST_F(TableTest, ArffErrorsNameTheLine) {
  const std::string text = kArff;
  const auto with = [&](const std::string& row) {
    BuildOptions wanted = options("b.arff", text + row);
    wanted.label = "";
    return refusal(wanted);
  };
  EXPECT_THAT(with("1, Paris, good\n"),
              testing::AllOf(testing::HasSubstr("line 12"), testing::HasSubstr("Paris")));
  EXPECT_THAT(with("1, Rome\n"), testing::HasSubstr("line 12"));
  EXPECT_THAT(with("{0 1}\n"), testing::HasSubstr("sparse"));
  EXPECT_THAT(with("1, 'Rome, good\n"), testing::HasSubstr("quote"));
  BuildOptions wanted = options("c.arff", "@relation r\n@attribute a relational\n@data\n1\n");
  EXPECT_THAT(refusal(wanted), testing::HasSubstr("relational"));
}

}  // namespace
}  // namespace ddl
