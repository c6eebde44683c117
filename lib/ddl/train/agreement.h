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

// The error itself, on the one worker that tells it: all others have a ToldElsewhere, so that
// everyone may leave in good order. Any other exception is this worker's alone, and the others must
// be ended (see worker.h).
class AgreedError : public Error {
 public:
  explicit AgreedError(const Error& error) : Error(error) {}
};

// Runs body on every worker; if any of them throws, all throw: the lowest worker that failed its
// own error (with rank and host when not all failed alike), all others ToldElsewhere. Collective.
void agree(Communicator& communicator, const std::function<void()>& body);

// Compares named settings over the workers; differing keys, values and ranks make bad_input on
// rank 0, ToldElsewhere on others. Collective.
void require_same_settings(Communicator& communicator,
                           const std::map<std::string, std::string>& settings);

}  // namespace ddl
