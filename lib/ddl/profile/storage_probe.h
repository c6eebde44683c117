// How fast a node reads from storage, one large sequential reader.
//
// What is read: the data set's shards when they hold enough (kEnoughShardBytes), else a temporary
// file of random bytes, which has no name from the moment it is made, so that nothing is left
// behind. How: past the page cache (O_DIRECT) where the file system can, else after dropping the
// file from the page cache and looking whether it went; else the figure is that of the page cache.
// Caches below the operating system (of a host under a virtual machine, of a controller) stay
// warm: nobody can drop those from here.
#pragma once

#include "ddl/artifact/cluster.h"
#include "ddl/profile/budget.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ddl::profile {

inline constexpr std::uint64_t kEnoughShardBytes = std::uint64_t{64} << 20;

struct StorageRate {
  Measured bytes_per_second;  // of pieces of some MiB
  std::string how;            // "direct, temporary file of 256MiB"
};

// `shards`: files to read, empty for a temporary file in `folder`. failure naming the file.
StorageRate storage_read_rate(const std::vector<std::filesystem::path>& shards,
                              const std::filesystem::path& folder, const Clock& clock,
                              double seconds);

// bad_input unless a temporary file can be made in the folder.
void require_storage_folder(const std::filesystem::path& folder);

}  // namespace ddl::profile
