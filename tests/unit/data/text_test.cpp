#include "unit/data/support.h"

namespace ddl {
namespace {

class TextTest : public ::testing::Test {
 protected:
  BuildOptions options(const std::string& text, std::int64_t context) {
    BuildOptions out;
    out.sources = {test::put(folder_ / "t.txt", text)};
    out.output = folder_ / "out";
    out.format = "text";
    out.context = context;
    out.val_fraction = out.test_fraction = 0;
    out.threads = 1;
    out.force = true;
    return out;
  }
  std::string refusal(const BuildOptions& wanted) {
    return test::error_of([&] { build_dataset(wanted); }).what();
  }
  test::TemporaryFolder folder_;
};

TEST_F(TextTest, WindowsOverlapByOneToken) {
  build_dataset(options("abcdefg", 3));
  const Dataset dataset(folder_ / "out");
  EXPECT_EQ(dataset.manifest().task, LearningTask::next_token);
  EXPECT_EQ(dataset.manifest().samples("train"), 2);
  EXPECT_EQ(test::all_values<std::uint8_t>(dataset, "train", "tokens"),
            (std::vector<std::uint8_t>{0, 1, 2, 3, 3, 4, 5, 6}));
}

TEST_F(TextTest, CharactersAreCodePointsInOrder) {
  build_dataset(
      options("\xef\xbb\xbfz\xe2\x82\xac\xc3\xa4"
              "a\xf0\x9f\x98\x80"
              "a",
              2));
  const Dataset dataset(folder_ / "out");
  EXPECT_THAT(dataset.manifest().tokenizer.vocabulary,
              testing::ElementsAre("a", "z", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80"));
  EXPECT_EQ(test::all_values<std::uint8_t>(dataset, "train", "tokens"),
            (std::vector<std::uint8_t>{1, 3, 2, 2, 0, 4}));
}

TEST_F(TextTest, SplitsShareNoToken) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>('a' + i % 26);
  BuildOptions wanted = options(text, 7);
  wanted.tokens = "bytes";
  wanted.val_fraction = 0.1;
  wanted.test_fraction = 0.2;
  build_dataset(wanted);
  const Dataset dataset(folder_ / "out");
  // 700, 100 and 200 tokens.
  EXPECT_EQ(dataset.manifest().samples("train"), 99);
  EXPECT_EQ(dataset.manifest().samples("val"), 14);
  EXPECT_EQ(dataset.manifest().samples("test"), 28);
  const auto val = test::all_values<std::uint8_t>(dataset, "val", "tokens");
  EXPECT_EQ(val[0], text[700]);
  EXPECT_EQ(val[8], text[707]);
  EXPECT_EQ(test::all_values<std::uint8_t>(dataset, "test", "tokens")[0], text[800]);
}

TEST_F(TextTest, BlockBordersLoseNothing) {
  // Longer than the 256 KiB read block, with a three-byte character across the border.
  std::string text(262143, 'x');
  text += "\xe2\x82\xac";
  text += std::string(100000, 'y');
  build_dataset(options(text, 1000));
  const Dataset dataset(folder_ / "out");
  const auto tokens = test::all_values<std::uint8_t>(dataset, "train", "tokens");
  EXPECT_EQ(dataset.manifest().samples("train"), 362);
  // Token 262143 is the euro sign: window 262, place 143.
  EXPECT_EQ(tokens[262 * 1001 + 142], 0);
  EXPECT_EQ(tokens[262 * 1001 + 143], 2);
  EXPECT_EQ(tokens[262 * 1001 + 144], 1);
}

TEST_F(TextTest, BadTextIsNamed) {
  EXPECT_THAT(refusal(options("ok\nbad \xff here\n", 3)),
              testing::AllOf(testing::HasSubstr("line 2"), testing::HasSubstr("UTF-8")));
  EXPECT_THAT(refusal(options("cut \xe2\x82", 3)), testing::HasSubstr("UTF-8"));
  EXPECT_THAT(refusal(options(std::string("\xff\xfe"
                                          "a\0b\0",
                                          6),
                              3)),
              testing::HasSubstr("UTF-16"));
  EXPECT_THAT(refusal(options("short", 64)), testing::HasSubstr("--context"));
  BuildOptions wanted = options("any", 1);
  wanted.tokens = "words";
  EXPECT_THAT(refusal(wanted), testing::HasSubstr("characters or bytes"));
}

TEST_F(TextTest, OtherSplitsReuseTheVocabulary) {
  BuildOptions wanted = options("abcabcabc", 2);
  wanted.split_sources["test"] = test::put(folder_ / "u.txt", "cbacba");
  build_dataset(wanted);
  {
    const Dataset dataset(folder_ / "out");
    EXPECT_EQ(test::all_values<std::uint8_t>(dataset, "test", "tokens"),
              (std::vector<std::uint8_t>{2, 1, 0, 0, 2, 1}));
  }
  test::put(folder_ / "u.txt", "cba\nxcba");
  EXPECT_THAT(refusal(wanted), testing::HasSubstr("not in the train text"));
}

}  // namespace
}  // namespace ddl
