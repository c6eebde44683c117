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
//
// Every program gets --help, --version, --log-level LEVEL, --config FILE and --print-config. Every
// option with a long name may also come from the environment, --max-time of ddl-train as
// DDL_TRAIN_MAX_TIME (--log-level as DDL_LOG_LEVEL), or from the file given with --config (TOML or
// INI; a section for each subcommand; unknown keys are errors that name the nearest). The command
// line beats the environment, which beats the file. --print-config writes what came of all three as
// such a file and ends.
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

// The final values of all options, from wherever they came, as a file for --config.
std::string configuration_text(const CLI::App& app);

}  // namespace ddl
