// A progress line on stderr for long work. On a terminal: one line redrawn at most 10 times a
// second with a bar, rate and time left. Not a terminal: silent, but for one line every 30 s.
// NO_COLOR (any value) and TERM=dumb switch colour off. Threads: advance() from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ddl {

class Progress {
 public:
  // total 0: unknown. `unit` as in "samples".
  Progress(std::string label, std::uint64_t total, std::string unit);
  ~Progress();  // clears the line
  void advance(std::uint64_t count);
  void set(std::uint64_t done);
  void note(std::string_view text);  // shown after the rate, e.g. "loss 0.31"
  void set_total(std::uint64_t total);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The text of the line: label, bar (when the total is known), count, rate, time left, note; cut to
// `columns` cells.
struct ProgressState {
  std::string label, unit, note;
  std::uint64_t done = 0, total = 0;
  double seconds = 0;
};
std::string progress_text(const ProgressState& state, int columns);

// True when stderr is a terminal and colour is wanted.
bool stderr_is_colourful();
bool stderr_is_terminal();

}  // namespace ddl
