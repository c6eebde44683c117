#include "ddl/base/log.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <thread>
#include <vector>

#include "support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using testing::MatchesRegex;

class Log : public testing::Test {
 protected:
  void TearDown() override {
    set_log_identity(-1, "");
    set_log_level(LogLevel::info);
  }
  static std::string captured(const std::function<void()>& body) {
    testing::internal::CaptureStderr();
    body();
    return testing::internal::GetCapturedStderr();
  }
};

constexpr char kTime[] = "[0-2][0-9]:[0-5][0-9]:[0-6][0-9] ";

TEST_F(Log, LineOfASingleProcess) {
  EXPECT_THAT(captured([] { log_info("{} is plain text"); }),
              MatchesRegex(std::string(kTime) + "info  \\{\\} is plain text\n"));
  EXPECT_THAT(captured([] { log_warning("w"); }), MatchesRegex(std::string(kTime) + "warn  w\n"));
  EXPECT_THAT(captured([] { log_error("e"); }), MatchesRegex(std::string(kTime) + "error e\n"));
}

TEST_F(Log, LineOfOneOfSeveral) {
  set_log_identity(0, "node1");
  EXPECT_THAT(captured([] { log_info("hello"); }),
              MatchesRegex(std::string(kTime) + "info  \\[node1:0\\] hello\n"));
}

TEST_F(Log, OtherRanksOnlyWarn) {
  set_log_identity(3, "node1");
  EXPECT_EQ(captured([] { log_info("hello"); }), "");
  EXPECT_THAT(captured([] { log_warning("slow"); }),
              MatchesRegex(std::string(kTime) + "warn  \\[node1:3\\] slow\n"));
  set_log_level(LogLevel::debug);
  EXPECT_NE(captured([] { log_info("hello"); }), "");
  EXPECT_NE(captured([] { log_debug("detail"); }), "");
}

TEST_F(Log, LevelsFilter) {
  const auto everything = [] {
    log_debug("d");
    log_info("i");
    log_warning("w");
    log_error("e");
  };
  const auto lines = [&](LogLevel level) {
    set_log_level(level);
    const std::string text = captured(everything);
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines(LogLevel::debug), 4);
  EXPECT_EQ(lines(LogLevel::info), 3);
  EXPECT_EQ(lines(LogLevel::warning), 2);
  EXPECT_EQ(lines(LogLevel::error), 1);
  EXPECT_EQ(lines(LogLevel::off), 0);
}

TEST_F(Log, LinesOfThreadsStayWhole) {
  const std::string text = captured([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 50; ++i) log_info(std::string(200, static_cast<char>('a' + t)));
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    ASSERT_EQ(line.size(), 9u + 6u + 200u) << line;
    ASSERT_EQ(line.find_first_not_of(line.back(), 15), std::string::npos) << line;
  }
  EXPECT_EQ(count, 200);
}

TEST_F(Log, LevelNames) {
  EXPECT_EQ(parse_log_level("debug"), LogLevel::debug);
  EXPECT_EQ(parse_log_level("info"), LogLevel::info);
  EXPECT_EQ(parse_log_level("warning"), LogLevel::warning);
  EXPECT_EQ(parse_log_level("error"), LogLevel::error);
  EXPECT_EQ(parse_log_level("off"), LogLevel::off);
  const Error error = test::error_of([] { parse_log_level("loud"); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_THAT(error.what(), testing::HasSubstr("\"loud\""));
}

}  // namespace
}  // namespace ddl
