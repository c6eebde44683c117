#include "ddl/base/log.h"

#include "ddl/base/error.h"
#include "ddl/base/progress.h"

#include <array>
#include <cerrno>
#include <memory>
#include <mutex>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

namespace ddl {
namespace {

// Levels in four or five letters, so that messages line up; coloured softly on a terminal.
class LevelFlag : public spdlog::custom_flag_formatter {
 public:
  explicit LevelFlag(bool colour) : colour_(colour) {}
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    std::string_view name = "info ", colour = "\033[32m";
    switch (message.level) {
      case spdlog::level::trace:
      case spdlog::level::debug:
        name = "debug", colour = "\033[2m";
        break;
      case spdlog::level::warn:
        name = "warn ", colour = "\033[33m";
        break;
      case spdlog::level::err:
      case spdlog::level::critical:
        name = "error", colour = "\033[31m";
        break;
      default:
        break;
    }
    const auto append = [&](std::string_view text) {
      out.append(text.data(), text.data() + text.size());
    };
    if (colour_) append(colour);
    append(name);
    if (colour_) append("\033[0m");
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<LevelFlag>(colour_);
  }

 private:
  bool colour_;
};

// One write(2) a line: lines of several processes on one terminal or file stay whole, which
// spdlog's own colour sink (several fwrites a line) does not promise.
class StderrSink : public spdlog::sinks::base_sink<std::mutex> {
 public:
  StderrSink() : terminal_(stderr_is_terminal()) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    // A progress line may stand where this line is going to be.
    static constexpr std::string_view kClearLine = "\r\033[K";
    if (terminal_) line.append(kClearLine.data(), kClearLine.data() + kClearLine.size());
    formatter_->format(message, line);
    std::string_view rest(line.data(), line.size());
    while (!rest.empty()) {
      const ssize_t count = ::write(STDERR_FILENO, rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;  // nowhere left to complain
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  void flush_() override {}

 private:
  bool terminal_;
};

struct LogState {
  LogState() {
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    formatter->add_flag<LevelFlag>('*', stderr_is_colourful()).set_pattern("%H:%M:%S %* %v");
    auto sink = std::make_shared<StderrSink>();
    sink->set_formatter(std::move(formatter));
    logger = std::make_unique<spdlog::logger>("ddl", std::move(sink));
    logger->set_level(spdlog::level::trace);
  }
  std::mutex mutex;
  std::unique_ptr<spdlog::logger> logger;
  std::string identity;  // "[host:rank] "
  int rank = -1;
  LogLevel level = LogLevel::info;
};

LogState& state() {
  static LogState instance;
  return instance;
}

void log(LogLevel level, spdlog::level::level_enum spdlog_level, std::string_view message) {
  LogState& log_state = state();
  std::string text;
  {
    const std::lock_guard lock(log_state.mutex);
    if (level < log_state.level) return;
    // What every rank would say is said once, unless somebody is looking for a fault.
    if (log_state.rank > 0 && level < LogLevel::warning && log_state.level != LogLevel::debug) {
      return;
    }
    text = log_state.identity;
  }
  text += message;
  log_state.logger->log(spdlog_level, spdlog::string_view_t(text.data(), text.size()));
}

}  // namespace

void set_log_identity(int rank, std::string_view host) {
  LogState& log_state = state();
  const std::lock_guard lock(log_state.mutex);
  log_state.rank = rank;
  log_state.identity =
      rank < 0 ? std::string() : "[" + std::string(host) + ":" + std::to_string(rank) + "] ";
}

void set_log_level(LogLevel level) {
  LogState& log_state = state();
  const std::lock_guard lock(log_state.mutex);
  log_state.level = level;
}

LogLevel parse_log_level(std::string_view name) {
  static constexpr std::array<std::string_view, 5> kNames = {"debug", "info", "warning", "error",
                                                             "off"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<LogLevel>(i);
  }
  throw bad_input("unknown log level \"" + std::string(name) + "\"",
                  "expected debug, info, warning, error or off");
}

void log_debug(std::string_view message) {
  log(LogLevel::debug, spdlog::level::debug, message);
}
void log_info(std::string_view message) {
  log(LogLevel::info, spdlog::level::info, message);
}
void log_warning(std::string_view message) {
  log(LogLevel::warning, spdlog::level::warn, message);
}
void log_error(std::string_view message) {
  log(LogLevel::error, spdlog::level::err, message);
}

}  // namespace ddl
