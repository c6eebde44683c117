// Monotonic time for durations; wall-clock time only ever as a label.
#pragma once

#include <chrono>
#include <string>

namespace ddl {

class Stopwatch {
 public:
  Stopwatch() : start_(std::chrono::steady_clock::now()) {}
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_;
};

// "2026-01-31T12:34:56Z"
std::string utc_timestamp();
std::string host_name();

}  // namespace ddl
