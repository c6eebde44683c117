#include "ddl/train/signals.h"

#include <atomic>
#include <csignal>

namespace ddl {
namespace {

// A handler can reach nothing but a global; this flag is the only one.
std::atomic<int> stop_requests{0};
std::atomic<int> interrupts{0};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int number) {
  if (number == SIGINT && interrupts.fetch_add(1) > 0) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
    return;
  }
  stop_requests.store(1);
}

constexpr int kSignals[] = {SIGUSR1, SIGTERM, SIGINT};

}  // namespace

StopSignals::StopSignals() {
  stop_requests.store(0);
  interrupts.store(0);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;  // a read or a write in flight goes on
  for (const int number : kSignals) sigaction(number, &action, nullptr);
}

StopSignals::~StopSignals() {
  for (const int number : kSignals) std::signal(number, SIG_DFL);
}

bool StopSignals::requested() {
  return stop_requests.load() != 0;
}

}  // namespace ddl
