// Shared handling of command lines for the programs in tools/, and for nothing else.
//
//   int main(int argc, char** argv) {
//     return ddl::run_program(argc, argv, {"ddl-model", "List, show and write models"},
//     [](CLI::App& app) {
//       … register options and subcommands with callbacks …
//     });
//   }
//
// run_program parses, calls the chosen callback, and maps what comes out to exit codes:
//   0 done; 1 ErrorKind::failure or any other exception; 2 usage errors and ErrorKind::bad_input;
//   75 ErrorKind::stopped. Errors are one line on stderr: "ddl-model: error: …".
// An unknown option names the nearest known one. stdout is flushed and checked before exit, so that
// a full disk is not silent (exit 1).
// Every program gets --help, --version, --log-level, and --config FILE (CLI11 TOML/INI; unknown
// keys are errors; precedence: command line, environment DDL_…, config file).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace ddl {

struct ProgramInfo {
  std::string name;                   // "ddl-shard"
  std::string description;            // one line
  std::vector<std::string> examples;  // shown at the end of --help
};

int run_program(int argc, const char* const* argv, const ProgramInfo& info,
                const std::function<void(CLI::App&)>& define);

// The version text printed by --version: "ddl 0.1.0", then libraries on further lines.
std::string version_text();

}  // namespace ddl
