// What the scripts of this folder run under mpirun:
//   mpi_checks collectives [SEGMENT_BYTES]   every check of tests/support/collectives.h, twice
//   mpi_checks exact FILE [SEGMENT_BYTES]    rank 0 writes the bits of exact_sum_bits to FILE
//   mpi_checks threads RANKS FILE            the same on ranks that are threads, without mpirun
//   mpi_checks throw RANK                    that rank throws, the others wait in an all_reduce
//   mpi_checks escape RANK                   the same, and nobody catches it before MPI's end
//   mpi_checks world                         the size of the world
// Exit codes as DESIGN's: an error's own, after all ranks were ended.
#include "ddl/base/error.h"
#include "ddl/comm/mpi.h"
#include "ddl/comm/mpi_internal.h"
#include "ddl/comm/thread_communicator.h"

#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/collectives.h"

namespace {

using Words = std::vector<std::string>;

int write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  return file ? 0 : 1;
}

void set_segments(ddl::Communicator& world, const Words& words, std::size_t at) {
  if (words.size() > at) ddl::set_segment_bytes(world, std::stoul(words[at]));
}

void collectives(ddl::Communicator& world) {
  for (int round = 0; round < 2; ++round) {
    for (const auto& [name, check] : ddl::test::collective_checks()) {
      try {
        check(world);
      } catch (const std::exception& error) {
        throw ddl::failure(name + ": " + error.what());
      }
    }
  }
}

void exact(ddl::Communicator& world, const std::string& path) {
  const std::string bits = ddl::test::exact_sum_bits(world);
  for (const std::string& of_rank : world.all_gather_text(bits))
    if (of_rank != bits) throw ddl::failure("two ranks hold unlike sums");
  if (world.rank() == 0 && write(path, bits) != 0)
    throw ddl::failure("cannot be written").with_file(path);
}

// All ranks meet once before one of them fails.
void fail_on(ddl::Communicator& world, int rank) {
  world.barrier();
  if (world.rank() == rank) throw std::runtime_error("this rank fell over");
  for (;;) world.all_reduce(std::int64_t{1}, ddl::ReduceOp::sum);
}

void run(ddl::Communicator& world, const Words& words) {
  const std::string& what = words.at(0);
  if (what == "collectives") {
    set_segments(world, words, 1);
    collectives(world);
  } else if (what == "exact") {
    set_segments(world, words, 2);
    exact(world, words.at(1));
  } else if (what == "throw" || what == "escape") {
    fail_on(world, std::stoi(words.at(1)));
  } else if (what != "world") {
    throw ddl::bad_input("unknown check " + what);
  }
  if (world.rank() == 0) std::cout << what << " done on " << world.size() << " ranks\n";
}

int under_mpi(int argc, char** argv, const Words& words) {
  ddl::MpiEnvironment environment(&argc, &argv);
  ddl::Communicator& world = environment.world();
  if (words.at(0) == "escape") run(world, words);
  try {
    run(world, words);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "rank " << world.rank() << ": " << error.what() << std::endl;
    const auto* known = dynamic_cast<const ddl::Error*>(&error);
    world.abort(known != nullptr ? known->exit_code() : 1);
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Words words(argv + 1, argv + argc);
  try {
    if (words.at(0) == "threads") {
      std::string bits;
      ddl::run_ranks(std::stoi(words.at(1)), [&](ddl::Communicator& communicator) {
        const std::string mine = ddl::test::exact_sum_bits(communicator);
        if (communicator.rank() == 0) bits = mine;
      });
      return write(words.at(2), bits);
    }
    return under_mpi(argc, argv, words);
  } catch (const ddl::Error& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return error.exit_code();
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 1;
  }
}
