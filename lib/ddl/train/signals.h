// Signals that ask a run to stop: SIGUSR1, SIGTERM and a first SIGINT set a flag that the trainer
// polls at step borders, where all workers agree; a second SIGINT ends the process at once.
// One object per process, made by main; the destructor restores the handlers.
#pragma once

namespace ddl {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  static bool requested();
};

}  // namespace ddl
