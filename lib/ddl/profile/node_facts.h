// What the operating system says about this node.
#pragma once

#include "ddl/artifact/cluster.h"

#include <cstdint>
#include <filesystem>
#include <string>

namespace ddl::profile {

// Host, processor, logical processors, quota and memory (the smaller of the machine's and the
// control group's limit) of this node; rates stay empty. What cannot be read is 0 or "unknown".
// Reads below `root`/proc and `root`/sys: tests give a folder.
NodeProfile node_facts(const std::string& host, const std::filesystem::path& root = "/");

// Memory that can be had without pushing others out; 0 when unknown.
std::uint64_t available_memory_bytes(const std::filesystem::path& root = "/");

// The last cache of a processor; 0 when unknown.
std::uint64_t last_cache_bytes();

// The same for all processes of one running system, whatever their host names say.
std::string boot_id();

}  // namespace ddl::profile
