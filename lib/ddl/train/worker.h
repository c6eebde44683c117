// One worker's life inside a world: log lines with its name, errors that end everybody.
#pragma once

#include "ddl/comm/communicator.h"

#include <functional>

namespace ddl {

// Runs body. An agreed error (agreement.h) is left to the caller on the worker that tells it, whose
// exit code becomes the job's; the others return 0 in silence. Any other exception is printed with
// rank and host, and ends all workers at once with its exit code. 0 when body returns.
int run_worker(Communicator& world, const std::function<void()>& body);

}  // namespace ddl
