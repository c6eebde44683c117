#include "ddl/base/units.h"

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using testing::HasSubstr;

// The parsers have no other error than this one, and it shows what was found.
template <typename Parse>
void expect_refused(Parse&& parse, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    SCOPED_TRACE("\"" + text + "\"");
    const Error error = test::error_of([&] { parse(text); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_THAT(error.what(), HasSubstr("found \"" + text + "\""));
    EXPECT_THAT(error.remedy(), HasSubstr("expected"));
  }
}

TEST(ParseBytes, BinaryAndDecimalUnitsInAnyCase) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("512B"), 512u);
  EXPECT_EQ(parse_bytes("4KiB"), 4096u);
  EXPECT_EQ(parse_bytes("64mib"), std::uint64_t{64} << 20);
  EXPECT_EQ(parse_bytes("2GiB"), std::uint64_t{2} << 30);
  EXPECT_EQ(parse_bytes("1TIB"), std::uint64_t{1} << 40);
  EXPECT_EQ(parse_bytes("3kB"), 3000u);
  EXPECT_EQ(parse_bytes("3MB"), 3'000'000u);
  EXPECT_EQ(parse_bytes("1.5GB"), 1'500'000'000u);
  EXPECT_EQ(parse_bytes("1TB"), 1'000'000'000'000u);
  EXPECT_EQ(parse_bytes("0.5 MiB"), 524'288u);
}

TEST(ParseBytes, WholeNumbersAreExact) {
  EXPECT_EQ(parse_bytes("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_bytes("9007199254740993"), 9007199254740993u);  // 2^53 + 1
}

TEST(ParseBytes, EverythingElseIsRefused) {
  expect_refused(parse_bytes, {"", "MiB", "-1", "+1", "1.5", "64M", "64 MiB MiB", "1e3", "12xB",
                               "0x10", " 4", "4 ", "nan", "inf", "1,5GB", "18446744073709551616",
                               "17179869184GiB", "99999999999999999999.5TiB"});
}

TEST(FormatBytes, OneDecimalAtMost) {
  EXPECT_EQ(format_bytes(0), "0B");
  EXPECT_EQ(format_bytes(1023), "1023B");
  EXPECT_EQ(format_bytes(1024), "1KiB");
  EXPECT_EQ(format_bytes(4096), "4KiB");
  EXPECT_EQ(format_bytes(1'468'006), "1.4MiB");
  EXPECT_EQ(format_bytes((std::uint64_t{1} << 20) - 1), "1MiB");
  EXPECT_EQ(format_bytes(std::uint64_t{256} << 20), "256MiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16EiB");
}

TEST(FormatBytes, IsReadBack) {
  for (const std::uint64_t bytes : {0ull, 1ull, 512ull, 4096ull, 64ull << 20, 3ull << 30}) {
    EXPECT_EQ(parse_bytes(format_bytes(bytes)), bytes);
  }
}

TEST(FormatCount, FewDigits) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(7), "7");
  EXPECT_EQ(format_count(0.25), "0.25");
  EXPECT_EQ(format_count(-1234), "-1,234");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(999.7), "1,000");
  EXPECT_EQ(format_count(1797), "1,797");
  EXPECT_EQ(format_count(9999), "9,999");
  EXPECT_EQ(format_count(12'345), "12.3 k");
  EXPECT_EQ(format_count(999'960), "1 M");
  EXPECT_EQ(format_count(11'173'962), "11.2 M");
  EXPECT_EQ(format_count(1.5e9), "1.5 G");
  EXPECT_EQ(format_count(std::nan("")), "unknown");
}

TEST(FormatRate, HasTheUnit) {
  EXPECT_EQ(format_rate(1234, "samples"), "1.2 k samples/s");
  EXPECT_EQ(format_rate(87.26, "samples"), "87.3 samples/s");
  EXPECT_EQ(format_rate(0, "steps"), "0 steps/s");
  EXPECT_EQ(format_rate(5.5e9, "B"), "5.5 GB/s");
  EXPECT_EQ(format_rate(12.2e9, "FLOP"), "12.2 GFLOP/s");
  EXPECT_EQ(format_rate(87.26, "B"), "87.3 B/s");
  EXPECT_EQ(format_rate(std::numeric_limits<double>::infinity(), "steps"), "unknown steps/s");
}

TEST(FormatSeconds, FromNanosecondsToDays) {
  EXPECT_EQ(format_seconds(0), "0 s");
  EXPECT_EQ(format_seconds(12e-9), "12 ns");
  EXPECT_EQ(format_seconds(870e-6), "870 us");
  EXPECT_EQ(format_seconds(1.5e-3), "1.5 ms");
  EXPECT_EQ(format_seconds(0.9999), "1 s");
  EXPECT_EQ(format_seconds(12.3), "12.3 s");
  EXPECT_EQ(format_seconds(59.97), "1 min 00 s");
  EXPECT_EQ(format_seconds(245), "4 min 05 s");
  EXPECT_EQ(format_seconds(3599.7), "1 h 00 min");
  EXPECT_EQ(format_seconds(7500), "2 h 05 min");
  EXPECT_EQ(format_seconds(86'399), "1 d 00 h");
  EXPECT_EQ(format_seconds(273'600), "3 d 04 h");
  EXPECT_EQ(format_seconds(-2), "-2 s");
  EXPECT_EQ(format_seconds(std::nan("")), "unknown");
  EXPECT_EQ(format_seconds(std::numeric_limits<double>::infinity()), "unknown");
  EXPECT_THAT(format_seconds(1e300), HasSubstr("d"));
}

TEST(ParseSeconds, Units) {
  EXPECT_EQ(parse_seconds("90"), 90);
  EXPECT_EQ(parse_seconds("90s"), 90);
  EXPECT_EQ(parse_seconds("1.5"), 1.5);
  EXPECT_EQ(parse_seconds("250ms"), 0.25);
  EXPECT_EQ(parse_seconds("5min"), 300);
  EXPECT_EQ(parse_seconds("2h"), 7200);
  EXPECT_EQ(parse_seconds("1d"), 86'400);
  EXPECT_EQ(parse_seconds("0"), 0);
  expect_refused(parse_seconds,
                 {"", "s", "-1s", "5m", "1e400", "inf", "nan", "1h30min", "5 5s", "1,5s", "s5"});
}

TEST(ParseDouble, WholeStringsOnly) {
  EXPECT_EQ(parse_double("0.1", "x"), 0.1);
  EXPECT_EQ(parse_double("-1e-3", "x"), -1e-3);
  EXPECT_EQ(parse_double("+2.5", "x"), 2.5);
  EXPECT_EQ(parse_double("5e-324", "x"), 5e-324);
  expect_refused([](std::string_view text) { parse_double(text, "learning rate"); },
                 {"", "+", "-", "+-1", "1.5x", " 1", "1 ", "1,5", "0x1p3", "nan", "inf", "-inf",
                  "1e999", "."});
  const Error error = test::error_of([] { parse_double("abc", "learning rate"); });
  EXPECT_THAT(error.what(), testing::StartsWith("learning rate: "));
}

TEST(ParseInt, WholeStringsOnly) {
  EXPECT_EQ(parse_int("0", "x"), 0);
  EXPECT_EQ(parse_int("-5", "x"), -5);
  EXPECT_EQ(parse_int("+5", "x"), 5);
  EXPECT_EQ(parse_int("9223372036854775807", "x"), INT64_MAX);
  EXPECT_EQ(parse_int("-9223372036854775808", "x"), INT64_MIN);
  expect_refused([](std::string_view text) { parse_int(text, "seed"); },
                 {"", "+", "-", "+-1", "1.0", "1e3", "0x10", " 1", "1 ", "9223372036854775808"});
  EXPECT_THAT(test::error_of([] { parse_int("9223372036854775808", "seed"); }).what(),
              HasSubstr("2^63"));
}

TEST(ParseDuration, EpochsAndSteps) {
  EXPECT_EQ(parse_duration("10ep"), (Duration{10, false}));
  EXPECT_EQ(parse_duration("500st"), (Duration{500, true}));
  EXPECT_EQ(parse_duration("3"), (Duration{3, false}));
  EXPECT_EQ(parse_duration("0st"), (Duration{0, true}));
  expect_refused(parse_duration, {"", "ep", "-1ep", "1.5ep", "10min", "10x", "ten", "10 st ep",
                                  "99999999999999999999st"});
}

TEST(ParseDuration, IsReadBack) {
  for (const Duration duration : {Duration{7, false}, Duration{1'000'000, true}}) {
    EXPECT_EQ(parse_duration(format_duration(duration)), duration);
  }
  EXPECT_EQ(format_duration({500, true}), "500st");
}

// Uses an installed locale with a decimal comma, or compiles one.
class GermanLocale : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8"}) {
      if (std::setlocale(LC_ALL, name) != nullptr) return;
    }
    // Under another name: setlocale remembers what it did not find.
    const std::string compile =
        "localedef -i de_DE -f UTF-8 '" + (folder_ / "ddl_comma").string() + "' >/dev/null 2>&1";
    if (std::system(compile.c_str()) == 0 && std::setlocale(LC_ALL, "ddl_comma") != nullptr) {
      return;
    }
    GTEST_SKIP() << "no locale with a decimal comma (install the package locales)";
  }
  void TearDown() override { std::setlocale(LC_ALL, "C"); }

 private:
  test::TemporaryFolder folder_;
  test::ScopedEnvironment search_path_{"LOCPATH", folder_.path().c_str()};
};

TEST_F(GermanLocale, ChangesNothing) {
  ASSERT_STREQ(std::localeconv()->decimal_point, ",");
  EXPECT_EQ(parse_double("1.5", "x"), 1.5);
  EXPECT_EQ(parse_seconds("1.5min"), 90);
  EXPECT_EQ(parse_bytes("1.5KiB"), 1536u);
  EXPECT_EQ(format_bytes(1536), "1.5KiB");
  EXPECT_EQ(format_count(11.2e6), "11.2 M");
  EXPECT_EQ(format_seconds(12.3), "12.3 s");
  test::error_of([] { parse_double("1,5", "x"); });
}

}  // namespace
}  // namespace ddl
