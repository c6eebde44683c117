#include "ddl/profile/node_facts.h"

#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/threads.h"
#include "ddl/base/units.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <thread>

#include <unistd.h>

namespace ddl::profile {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

std::string text_of(const fs::path& file) {
  try {
    return read_text(file, std::size_t{64} << 20);
  } catch (const Error&) {
    return "";  // not every system has every file
  }
}

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

// The value after "key" and a colon, on a line of its own.
std::string value_of(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(':');
    if (colon != std::string::npos && trimmed(line.substr(0, colon)) == key)
      return trimmed(line.substr(colon + 1));
  }
  return "";
}

// "16384 kB" in bytes; 0 when there is no number.
std::uint64_t kibibytes(const std::string& text) {
  std::uint64_t value = 0;
  std::istringstream(text) >> value;
  return value * 1024;
}

// A control group's file of one number; kNone for "max", a missing file, or v1's huge "no limit".
std::uint64_t group_value(const fs::path& file) {
  std::uint64_t value = kNone;
  if (!(std::istringstream(text_of(file)) >> value) || value > (std::uint64_t{1} << 60))
    return kNone;
  return value;
}

// Of a container, whose own group is mounted at the top.
std::uint64_t group_limit(const fs::path& root) {
  return std::min(group_value(root / "sys/fs/cgroup/memory.max"),
                  group_value(root / "sys/fs/cgroup/memory/memory.limit_in_bytes"));
}

std::uint64_t group_use(const fs::path& root) {
  const std::uint64_t use =
      std::min(group_value(root / "sys/fs/cgroup/memory.current"),
               group_value(root / "sys/fs/cgroup/memory/memory.usage_in_bytes"));
  return use == kNone ? 0 : use;
}

}  // namespace

NodeProfile node_facts(const std::string& host, const fs::path& root) {
  NodeProfile out;
  out.host = host.empty() ? "localhost" : host;
  const std::string processors = text_of(root / "proc/cpuinfo");
  out.processor = value_of(processors, "model name");
  if (out.processor.empty()) out.processor = value_of(processors, "Model");
  if (out.processor.empty()) out.processor = "unknown";
  out.logical_processors = static_cast<int>(std::thread::hardware_concurrency());
  out.cpu_quota = std::max(0.0, cgroup_quota_cores(root));
  out.memory_bytes =
      std::min(kibibytes(value_of(text_of(root / "proc/meminfo"), "MemTotal")), group_limit(root));
  return out;
}

std::uint64_t available_memory_bytes(const fs::path& root) {
  const std::uint64_t machine = kibibytes(value_of(text_of(root / "proc/meminfo"), "MemAvailable"));
  const std::uint64_t limit = group_limit(root), use = group_use(root);
  return std::min(machine, limit == kNone ? kNone : limit - std::min(limit, use));
}

std::uint64_t last_cache_bytes() {
  long largest = 0;
  for (const int level : {_SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL4_CACHE_SIZE})
    largest = std::max(largest, ::sysconf(level));
  return static_cast<std::uint64_t>(largest);
}

std::string boot_id() {
  return trimmed(text_of("/proc/sys/kernel/random/boot_id"));
}

}  // namespace ddl::profile
