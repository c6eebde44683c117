// Talk for people, on stderr: spdlog behind a small surface. Lines read
//   12:34:56 info  message            (one process)
//   12:34:56 info  [host:rank] message  (several)
// By default only rank 0 speaks at info level; warnings and errors come from any rank, as whole
// lines. Threads: all functions are safe from any thread.
#pragma once

#include <string>
#include <string_view>

namespace ddl {

enum class LogLevel { debug, info, warning, error, off };

// Names the process in later lines. rank < 0: a single process.
void set_log_identity(int rank, std::string_view host);
void set_log_level(LogLevel level);
LogLevel parse_log_level(std::string_view name);

void log_debug(std::string_view message);
void log_info(std::string_view message);
void log_warning(std::string_view message);
void log_error(std::string_view message);

}  // namespace ddl
