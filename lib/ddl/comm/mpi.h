// MPI behind the Communicator; MPI_Comm stays inside mpi.cpp.
#pragma once

#include "ddl/comm/communicator.h"

#include <memory>
#include <optional>
#include <string>

namespace ddl {

// What a launcher's variables say about the world, before MPI starts (mpirun, srun, PMIx, PMI).
struct LaunchEnvironment {
  bool launched = false;     // under some launcher
  std::string launcher;      // "mpirun", "srun", …
  int rank = -1, size = -1;  // as the variables say; -1 unknown
};
LaunchEnvironment launch_environment();

// Initialises MPI for the lifetime of the object (MPI_THREAD_FUNNELED at least) and owns the world
// communicator. MPI errors become exceptions. Construct once per process, from main's thread.
// A world whose size differs from what the launcher says is bad_input (launcher and library from
// different MPIs). The destructor finalizes; after an error call world().abort() instead.
class MpiEnvironment {
 public:
  MpiEnvironment(int* argc, char*** argv);
  ~MpiEnvironment();
  MpiEnvironment(const MpiEnvironment&) = delete;
  MpiEnvironment& operator=(const MpiEnvironment&) = delete;
  Communicator& world();
  static std::string library_version();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ddl
