#include "ddl/train/worker.h"

#include "ddl/base/log.h"
#include "ddl/train/agreement.h"

namespace ddl {

int run_worker(Communicator& world, const std::function<void()>& body) {
  if (world.size() > 1) set_log_identity(world.rank(), world.host());
  int exit_code = 1;
  std::string what;
  try {
    body();
    return 0;
  } catch (const AgreedError&) {
    throw;
  } catch (const ToldElsewhere&) {
    // The launcher's exit code is that of the worker that tells the error. A code of one's own
    // would make mpirun kill workers that are about to end in good order, and wait for them.
    return 0;
  } catch (const Error& error) {
    if (world.size() == 1) throw;
    exit_code = error.exit_code();
    what = error.what();
  } catch (const std::exception& error) {
    if (world.size() == 1) throw;
    what = error.what();
  }
  log_error("worker " + std::to_string(world.rank()) + " on " + world.host() +
            " failed, all workers end: " + what);
  world.abort(exit_code);
  return exit_code;
}

}  // namespace ddl
