#include "ddl/comm/mpi.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace ddl {
namespace {

int number_of(const char* name) {
  const char* text = std::getenv(name);
  int value = -1;
  if (text == nullptr) return -1;
  const char* end = text + std::strlen(text);
  const auto parsed = std::from_chars(text, end, value);
  return parsed.ec == std::errc() && parsed.ptr == end ? value : -1;
}

struct Launcher {
  const char* name;
  const char* rank;
  const char* size;
};

// Most telling first: srun with --mpi=pmix sets PMIX_RANK beside its own variables. SLURM_NTASKS
// also stands in the batch script itself, where nothing was launched: only a SLURM_STEP has
// SLURM_PROCID together with SLURM_STEP_NUM_TASKS.
constexpr Launcher kLaunchers[] = {
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"srun", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
    {"mpiexec", "PMI_RANK", "PMI_SIZE"},
    {"a PMIx launcher", "PMIX_RANK", "PMIX_SIZE"},
};

}  // namespace

LaunchEnvironment launch_environment() {
  LaunchEnvironment environment;
  for (const Launcher& launcher : kLaunchers) {
    const int rank = number_of(launcher.rank);
    if (rank < 0) continue;
    environment.launched = true;
    environment.launcher = launcher.name;
    environment.rank = rank;
    environment.size = number_of(launcher.size);
    if (environment.size > 0) return environment;
  }
  if (environment.launched) return environment;
  // srun without an MPI plugin: N processes that would each be alone in the world.
  const int rank = number_of("SLURM_PROCID"), size = number_of("SLURM_STEP_NUM_TASKS");
  if (rank >= 0 && size > 0 && std::getenv("SLURM_STEP_ID") != nullptr) {
    const char* step = std::getenv("SLURM_STEP_ID");
    // The batch script's own step has a reserved id beyond the numbered ones.
    if (number_of("SLURM_STEP_ID") >= 0 && std::strcmp(step, "4294967291") != 0) {
      environment = {true, "srun", rank, size};
    }
  }
  return environment;
}

}  // namespace ddl
