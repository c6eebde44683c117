#include "ddl/comm/launch_environment_internal.h"
#include "ddl/comm/mpi.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace ddl {
namespace {

int number(const char* text) {
  if (text == nullptr) return -1;
  int value = -1;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  return error == std::errc{} && stop == end && value >= 0 ? value : -1;
}

// Slurm sets its variables in the batch script and the interactive shell too, where no rank runs;
// their steps have ids of their own (SLURM_BATCH_SCRIPT, SLURM_INTERACTIVE_STEP).
bool is_srun_step(const char* id) {
  return id != nullptr && *id != '\0' && std::strcmp(id, "4294967291") != 0 &&
         std::strcmp(id, "4294967290") != 0 && std::strcmp(id, "batch") != 0 &&
         std::strcmp(id, "interactive") != 0;
}

}  // namespace

LaunchEnvironment launch_environment_of(const std::function<const char*(const char*)>& variable) {
  const auto given = [&](const char* launcher, const char* rank, const char* size) {
    LaunchEnvironment found;
    found.rank = number(variable(rank));
    found.launched = found.rank >= 0;
    if (found.launched) {
      found.launcher = launcher;
      found.size = number(variable(size));
      if (found.size == 0 || (found.size > 0 && found.rank >= found.size)) found.size = -1;
    }
    return found;
  };
  // mpirun inside a Slurm job sets both: the innermost comes first.
  LaunchEnvironment found = given("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
  if (found.launched) return found;
  const char* step = variable("SLURM_STEP_ID");
  if (is_srun_step(step != nullptr ? step : variable("SLURM_STEPID"))) {
    found = given(
        "srun", "SLURM_PROCID",
        variable("SLURM_STEP_NUM_TASKS") != nullptr ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS");
    if (found.launched) return found;
  }
  found = given("a PMIx launcher", "PMIX_RANK", "PMIX_SIZE");
  if (found.launched) return found;
  return given("a PMI launcher", "PMI_RANK", "PMI_SIZE");
}

LaunchEnvironment launch_environment() {
  return launch_environment_of([](const char* name) { return std::getenv(name); });
}

}  // namespace ddl
