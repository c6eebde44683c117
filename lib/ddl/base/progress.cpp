#include "ddl/base/progress.h"

#include "ddl/base/clock.h"
#include "ddl/base/log.h"
#include "ddl/base/table.h"
#include "ddl/base/units.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

namespace ddl {
namespace {

constexpr double kRedrawSeconds = 0.1;
constexpr double kLineSeconds = 30;
constexpr int kBarCells = 20;

bool terminal_is_dumb() {
  const char* const term = std::getenv("TERM");
  return term == nullptr || std::string_view(term) == "dumb";
}

int terminal_columns() {
  struct winsize size {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

// Best effort: a progress line that cannot be shown is no reason to stop the work.
void put(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

// The first `cells` code points.
std::string cut(std::string text, int cells) {
  int seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0u) == 0x80u) continue;
    if (seen++ == cells) {
      text.resize(i);
      break;
    }
  }
  return text;
}

}  // namespace

std::string progress_text(const ProgressState& state, int columns) {
  std::string text = state.label;
  const double rate = state.seconds > 0 ? static_cast<double>(state.done) / state.seconds : 0;
  if (state.total > 0) {
    const double fraction =
        std::min(1.0, static_cast<double>(state.done) / static_cast<double>(state.total));
    text += " |" + bar(fraction, kBarCells) + "| " +
            std::to_string(static_cast<int>(fraction * 100)) + "%";
  }
  text += "  " + format_count(static_cast<double>(state.done));
  if (state.total > 0) text += " of " + format_count(static_cast<double>(state.total));
  text += " " + state.unit;
  if (rate > 0) text += "  " + format_rate(rate, state.unit);
  if (rate > 0 && state.total > state.done) {
    text += "  " + format_seconds(static_cast<double>(state.total - state.done) / rate) + " left";
  }
  if (!state.note.empty()) text += "  " + state.note;
  return cut(std::move(text), columns);
}

struct Progress::Impl {
  std::atomic<std::uint64_t> done{0}, total{0};
  std::atomic<double> next_seconds{0};
  Stopwatch watch;
  bool drawn = false;  // under the mutex, as is all that follows
  bool terminal = false;
  ProgressState shown;
  std::mutex mutex;

  void maybe_draw() {
    const double now = watch.seconds();
    if (now < next_seconds.load(std::memory_order_relaxed)) return;
    // Whoever comes second has nothing newer to show.
    const std::unique_lock lock(mutex, std::try_to_lock);
    if (!lock || now < next_seconds.load(std::memory_order_relaxed)) return;
    next_seconds.store(now + (terminal ? kRedrawSeconds : kLineSeconds));
    shown.done = done.load();
    shown.total = total.load();
    shown.seconds = now;
    if (terminal) {
      // The last column stays free: some terminals wrap when it is filled.
      put("\r" + progress_text(shown, terminal_columns() - 1) + "\033[K");
      drawn = true;
    } else {
      log_info(progress_text(shown, 1000));
    }
  }
};

Progress::Progress(std::string label, std::uint64_t total, std::string unit)
    : impl_(std::make_unique<Impl>()) {
  impl_->total = total;
  impl_->shown.label = std::move(label);
  impl_->shown.unit = std::move(unit);
  impl_->terminal = stderr_is_terminal() && !terminal_is_dumb();
  impl_->next_seconds = impl_->terminal ? 0 : kLineSeconds;
}

Progress::~Progress() {
  if (impl_->drawn) put("\r\033[K");
}

void Progress::advance(std::uint64_t count) {
  impl_->done += count;
  impl_->maybe_draw();
}

void Progress::set(std::uint64_t done) {
  impl_->done = done;
  impl_->maybe_draw();
}

void Progress::note(std::string_view text) {
  const std::lock_guard lock(impl_->mutex);
  impl_->shown.note = text;
}

void Progress::set_total(std::uint64_t total) {
  impl_->total = total;
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

bool stderr_is_colourful() {
  return stderr_is_terminal() && std::getenv("NO_COLOR") == nullptr && !terminal_is_dumb();
}

}  // namespace ddl
