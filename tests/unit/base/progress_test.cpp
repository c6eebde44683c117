#include "ddl/base/progress.h"

#include "ddl/base/log.h"

#include <cerrno>
#include <functional>
#include <thread>
#include <vector>

#include "support.h"
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ddl {
namespace {

using test::ScopedEnvironment;
using testing::HasSubstr;
using testing::Not;

TEST(ProgressText, KnownTotal) {
  ProgressState state;
  state.label = "shard";
  state.unit = "samples";
  state.done = 2500;
  state.total = 10'000;
  state.seconds = 2.5;
  state.note = "loss 0.31";
  EXPECT_EQ(progress_text(state, 200),
            "shard |█████               | 25%  2,500 of 10 k samples  1 k samples/s  7.5 s left"
            "  loss 0.31");
}

TEST(ProgressText, UnknownTotalAndNothingDone) {
  ProgressState state;
  state.label = "read";
  state.unit = "rows";
  EXPECT_EQ(progress_text(state, 200), "read  0 rows");
  state.done = 10;
  state.seconds = 1;
  EXPECT_EQ(progress_text(state, 200), "read  10 rows  10 rows/s");
}

TEST(ProgressText, MoreThanTheTotalIsFull) {
  ProgressState state;
  state.label = "x";
  state.done = 30;
  state.total = 20;
  state.seconds = 1;
  EXPECT_THAT(progress_text(state, 200), HasSubstr("| 100%"));
  EXPECT_THAT(progress_text(state, 200), Not(HasSubstr("left")));
}

TEST(ProgressText, IsCutBetweenCharacters) {
  ProgressState state;
  state.label = "größer";
  state.done = 10;
  state.total = 10;
  EXPECT_EQ(progress_text(state, 3), "grö");
  EXPECT_EQ(progress_text(state, 9), "größer |█");
  EXPECT_EQ(progress_text(state, 0), "");
}

TEST(Progress, IsSilentWithoutATerminal) {
  testing::internal::CaptureStderr();
  EXPECT_FALSE(stderr_is_terminal());
  EXPECT_FALSE(stderr_is_colourful());
  {
    Progress progress("work", 1000, "samples");
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 250; ++i) progress.advance(1);
        progress.note("thread done");
      });
    }
    for (std::thread& thread : threads) thread.join();
    progress.set_total(2000);
    progress.set(2000);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// Runs `body` in a child whose stderr is a terminal of 40 columns, and returns what it showed.
std::string shown_on_terminal(const std::function<void()>& body) {
  const int control = posix_openpt(O_RDWR | O_NOCTTY);
  if (control < 0 || grantpt(control) != 0 || unlockpt(control) != 0) {
    ADD_FAILURE() << "no pseudo terminal";
    return "";
  }
  const std::string name = ptsname(control);
  const int terminal = open(name.c_str(), O_RDWR | O_NOCTTY);
  winsize size{};
  size.ws_col = 40;
  ioctl(terminal, TIOCSWINSZ, &size);
  const pid_t child = fork();
  if (child == 0) {
    dup2(terminal, STDERR_FILENO);
    body();
    _exit(0);
  }
  close(terminal);
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = read(control, buffer, sizeof buffer);
    if (count > 0) {
      text.append(buffer, static_cast<std::size_t>(count));
    } else if (count == 0 || errno != EINTR) {
      break;  // the other end is closed: EIO
    }
  }
  close(control);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return text;
}

TEST(Progress, OnATerminalOneLineIsDrawnAndCleared) {
  const ScopedEnvironment term("TERM", "xterm");
  const std::string text = shown_on_terminal([] {
    Progress progress("work", 4, "samples");
    progress.advance(1);
    progress.advance(1);  // too soon for another drawing
  });
  EXPECT_THAT(text, testing::StartsWith("\rwork |█████ "));
  EXPECT_THAT(text, testing::EndsWith("\033[K\r\033[K"));
  EXPECT_THAT(text, Not(HasSubstr("\n")));
  EXPECT_THAT(text, Not(HasSubstr("left")));  // beyond 40 columns
}

TEST(Progress, ADumbTerminalIsLeftAlone) {
  const ScopedEnvironment term("TERM", "dumb");
  EXPECT_EQ(shown_on_terminal([] { Progress("work", 4, "samples").advance(1); }), "");
}

TEST(Colour, IsWantedOnATerminalUnlessNoColor) {
  const auto colourful = [](const char* term, const char* no_color) {
    const ScopedEnvironment set_term("TERM", term);
    const ScopedEnvironment set_no_color("NO_COLOR", no_color);
    return shown_on_terminal([] {
             const char answer = stderr_is_colourful() ? 'y' : 'n';
             if (write(STDERR_FILENO, &answer, 1) != 1) _exit(1);
           }) == "y";
  };
  EXPECT_TRUE(colourful("xterm", nullptr));
  EXPECT_FALSE(colourful("xterm", ""));
  EXPECT_FALSE(colourful("xterm", "1"));
  EXPECT_FALSE(colourful("dumb", nullptr));
  EXPECT_FALSE(colourful(nullptr, nullptr));
}

}  // namespace
}  // namespace ddl
