// What the communicators share.
#pragma once

#include "ddl/comm/communicator.h"

#include <cstddef>
#include <span>

namespace ddl {

// failure unless there is one count per rank, they add up to `all` elements, and this rank's is
// `mine`.
void check_pieces(const char* what, const Communicator& communicator,
                  std::span<const std::size_t> counts, std::size_t all, std::size_t mine);

// Messages of the MPI communicator are cut into pieces of at most this many bytes: below 2^31, the
// limit of MPI's counts, and small enough that the library's copies stay small.
constexpr std::size_t kSegmentBytes = std::size_t{64} << 20;

}  // namespace ddl
