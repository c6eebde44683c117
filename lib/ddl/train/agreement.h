// Errors and settings on which all workers must agree, so that nobody waits for one who has left.
#pragma once

#include "ddl/base/error.h"
#include "ddl/comm/communicator.h"

#include <functional>
#include <map>
#include <string>

namespace ddl {

// Thrown on the workers that did not meet the error themselves, or that leave its telling to the
// first one that did. Same kind, hence the same exit code; say nothing about it.
class ToldElsewhere : public Error {
 public:
  explicit ToldElsewhere(ErrorKind kind) : Error(kind, "another worker tells the error") {}
};

// Runs body on every worker; if any of them throws, all throw: the lowest worker that failed its
// own error (with rank and host when not all failed alike), all others ToldElsewhere. Collective.
void agree(Communicator& communicator, const std::function<void()>& body);

// Compares named settings over the workers; differing keys, values and ranks make bad_input on
// rank 0, ToldElsewhere on others. Collective.
void require_same_settings(Communicator& communicator,
                           const std::map<std::string, std::string>& settings);

}  // namespace ddl
