// Starting the workers: ddl-train runs itself again under mpirun, unless a launcher did already.
//
// The command line is put together here as a list of arguments (no shell sees it) with a line for
// every choice made on the user's behalf; launch() runs it in its own process group, so that a
// terminal's interrupt reaches ddl-train alone, and passes signals on:
//   first SIGINT, SIGTERM, SIGUSR1 -> SIGUSR1 (checkpoint and stop);  second SIGINT -> SIGHUP (end)
// mpirun itself never sees a SIGTERM, so its odls_base_sigkill_timeout need not be raised: that
// would delay the end of a failed run by twice its value.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ddl {

// What the launcher must know about this host; host_facts() looks, tests say.
struct HostFacts {
  std::string mpirun;  // full path; "" when there is none
  bool root = false;
  bool container_or_ci = false;
  std::string container_hint;  // what it was told by: "/.dockerenv", "CI=true"
  bool root_allowed = false;   // OMPI_ALLOW_RUN_AS_ROOT is set
  int processors = 1;          // that this process may use
};
HostFacts host_facts();

struct LaunchRequest {
  int workers = 1;
  bool explicit_np = false;
  bool allow_root = false;                 // --allow-run-as-root
  std::vector<std::string> hosts;          // "name" or "name:slots"; empty: this host
  std::vector<std::string> planned_hosts;  // of the plan's workers, in order of rank
  std::vector<std::string> forwarded;      // names of environment variables for other hosts
  std::vector<std::string> command;        // program and arguments of a worker
};

struct LaunchCommand {
  std::vector<std::string> arguments;  // argv of mpirun
  std::vector<std::string> remarks;    // one line per choice
};

// bad_input when mpirun is missing or would refuse (root outside of a container).
LaunchCommand launch_command(const LaunchRequest& request, const HostFacts& facts);

// Runs it and returns its exit code (128 + n when killed by signal n).
int launch(const LaunchCommand& command);

// Full path of the running program, to start it again.
std::filesystem::path own_program();
// Names of the DDL_* and OMP_NUM_THREADS variables that are set.
std::vector<std::string> forwarded_variables();

}  // namespace ddl
