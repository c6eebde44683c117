// Which processors the workers of a host may use, and whether they get in one another's way.
#pragma once

#include <string>
#include <vector>

namespace ddl {

// Numbers of the processors this process may run on.
std::vector<int> allowed_processors();

// One line per host whose workers want more threads than the processors they share.
// Each entry is a worker: "HOST:LANES:0,1,5,".
std::vector<std::string> shared_processor_warnings(const std::vector<std::string>& workers);

}  // namespace ddl
