// launch_environment() over any set of variables: tests give their own.
#pragma once

#include "ddl/comm/mpi.h"

#include <functional>

namespace ddl {

// variable(name): the value, or null when it is not set.
LaunchEnvironment launch_environment_of(const std::function<const char*(const char*)>& variable);

}  // namespace ddl
