// For tests: a world whose messages are cut into small pieces, to reach the many-piece paths
// cheaply.
#pragma once

#include "ddl/comm/mpi.h"

#include <cstddef>

namespace ddl {

// Largest piece of one MPI call in bytes; at least 8. Applies to later calls of this communicator,
// which must come from an MpiEnvironment.
void set_segment_bytes(Communicator& communicator, std::size_t bytes);

}  // namespace ddl
