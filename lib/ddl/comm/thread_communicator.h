// Ranks as threads of one process: for unit tests (thread sanitizer) and single-process use.
#pragma once

#include "ddl/comm/communicator.h"

#include <functional>
#include <memory>
#include <vector>

namespace ddl {

// Communicators of `size` ranks that share a process. Each belongs to one thread. If one rank's
// thread calls abort() or its communicator is destroyed while others wait, the others throw
// failure.
std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int size);

// Runs body(communicator) on `size` threads; the first exception is rethrown after all have ended.
void run_ranks(int size, const std::function<void(Communicator&)>& body);

}  // namespace ddl
