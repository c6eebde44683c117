#include "ddl/train/processors.h"

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include <sched.h>

namespace ddl {

std::vector<int> allowed_processors() {
  std::vector<int> out;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return out;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &set)) out.push_back(processor);
  return out;
}

std::vector<std::string> shared_processor_warnings(const std::vector<std::string>& workers) {
  struct Host {
    int workers = 0, lanes = 0;
    std::set<int> processors;
  };
  std::map<std::string, Host> hosts;
  for (const std::string& worker : workers) {
    const std::size_t list = worker.rfind(':');
    const std::size_t lanes = worker.rfind(':', list - 1);
    Host& host = hosts[worker.substr(0, lanes)];
    ++host.workers;
    host.lanes += std::atoi(worker.substr(lanes + 1, list - lanes - 1).c_str());
    std::istringstream numbers(worker.substr(list + 1));
    for (std::string number; std::getline(numbers, number, ',');)
      host.processors.insert(std::atoi(number.c_str()));
  }
  std::vector<std::string> warnings;
  for (const auto& [name, host] : hosts) {
    const auto processors = static_cast<int>(host.processors.size());
    if (processors > 0 && host.workers > 1 && host.lanes > processors)
      warnings.push_back(std::to_string(host.workers) + " workers on " + name + " run " +
                         std::to_string(host.lanes) + " tasks side by side on " +
                         std::to_string(processors) +
                         (processors == 1 ? " processor" : " processors") +
                         ": they share cores and wait for one another");
  }
  return warnings;
}

}  // namespace ddl
