// Quantities as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ddl {

// "64MiB", "1.5GB", "4096": binary (KiB MiB GiB TiB) and decimal (kB MB GB TB) suffixes, case
// ignored. bad_input otherwise.
std::uint64_t parse_bytes(std::string_view text);
std::string format_bytes(std::uint64_t bytes);                      // "4KiB", "1.4MiB"
std::string format_count(double count);                             // "11.2 M", "1,797"
std::string format_rate(double per_second, std::string_view unit);  // "1.2 k samples/s", "5.5 GB/s"
std::string format_seconds(double seconds);  // "870 us", "12.3 s", "4 min 05 s"

// "90s", "5min", "2h", "1d", plain seconds.
double parse_seconds(std::string_view text);

// Whole-string number parsing that never depends on the locale; bad_input naming `what` otherwise.
double parse_double(std::string_view text, std::string_view what);
std::int64_t parse_int(std::string_view text, std::string_view what);

// A length of training: "10ep" epochs or "500st" steps; a bare number is epochs.
struct Duration {
  std::int64_t count = 0;
  bool in_steps = false;
  bool operator==(const Duration&) const = default;
};
Duration parse_duration(std::string_view text);
std::string format_duration(Duration duration);

}  // namespace ddl
