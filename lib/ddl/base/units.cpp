#include "ddl/base/units.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include <fast_float/fast_float.h>
#include <spdlog/fmt/fmt.h>

namespace ddl {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  // std::tolower would ask the locale.
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string quoted(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

// "1.5GB" -> {"1.5", "gb"}; one run of blanks between them is allowed.
struct Parts {
  std::string_view number;
  std::string unit;
};
Parts split_unit(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0 && ((text[end - 1] >= 'a' && text[end - 1] <= 'z') ||
                     (text[end - 1] >= 'A' && text[end - 1] <= 'Z'))) {
    --end;
  }
  const std::string unit = lower(text.substr(end));
  while (!unit.empty() && end > 0 && text[end - 1] == ' ') --end;
  return {text.substr(0, end), unit};
}

// At most `decimals` of them, without trailing zeros: 12.30 -> "12.3".
std::string trimmed(double value, int decimals) {
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') == std::string::npos) return text;
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

// About three digits, for values below 1,000.
std::string three_digits(double value) {
  const double size = std::abs(value);
  return trimmed(value, size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

// The prefix of 1,000^k that keeps the rounded value below 1,000.
struct Scaled {
  double value;
  std::string_view prefix;
};
Scaled scale(double value) {
  static constexpr std::array<std::string_view, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  std::size_t power = 0;
  while (power + 1 < kPrefixes.size() && std::abs(value) >= (power == 0 ? 999.5 : 999.95)) {
    value /= 1000.0;
    ++power;
  }
  return {value, kPrefixes[power]};
}

std::string scaled_text(double value) {
  const Scaled scaled = scale(value);
  if (scaled.prefix.empty()) return three_digits(value);
  return trimmed(scaled.value, 1) + " " + std::string(scaled.prefix);
}

std::string with_thousands(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

}  // namespace

double parse_double(std::string_view text, std::string_view what) {
  const auto refuse = [&](const std::string& expected) {
    return bad_input(std::string(what) + ": found " + quoted(text), "expected " + expected);
  };
  std::string_view number = text;
  if (number.size() > 1 && number[0] == '+' && number[1] != '-') number.remove_prefix(1);
  double value = 0;
  const char* const end = number.data() + number.size();
  const auto parsed = fast_float::from_chars(number.data(), end, value);
  if (parsed.ptr != end || number.empty() ||
      (parsed.ec != std::errc() && parsed.ec != std::errc::result_out_of_range)) {
    throw refuse("a number with a decimal point, such as 0.5 or 1e-3");
  }
  if (!std::isfinite(value)) throw refuse("a finite number");
  return value;
}

std::int64_t parse_int(std::string_view text, std::string_view what) {
  std::string_view number = text;
  if (number.size() > 1 && number[0] == '+' && number[1] != '-') number.remove_prefix(1);
  std::int64_t value = 0;
  const char* const end = number.data() + number.size();
  const auto parsed = std::from_chars(number.data(), end, value);
  if (parsed.ptr == end && parsed.ec == std::errc::result_out_of_range) {
    throw bad_input(std::string(what) + ": found " + quoted(text),
                    "expected a whole number between -2^63 and 2^63 - 1");
  }
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    throw bad_input(std::string(what) + ": found " + quoted(text), "expected a whole number");
  }
  return value;
}

std::uint64_t parse_bytes(std::string_view text) {
  static constexpr std::array<std::pair<std::string_view, std::uint64_t>, 10> kUnits = {{
      {"", 1},
      {"b", 1},
      {"kib", std::uint64_t{1} << 10},
      {"mib", std::uint64_t{1} << 20},
      {"gib", std::uint64_t{1} << 30},
      {"tib", std::uint64_t{1} << 40},
      {"kb", 1'000},
      {"mb", 1'000'000},
      {"gb", 1'000'000'000},
      {"tb", 1'000'000'000'000},
  }};
  const auto refuse = [&] {
    return bad_input("size: found " + quoted(text),
                     "expected a number of bytes with an optional unit "
                     "(KiB MiB GiB TiB kB MB GB TB), such as 64MiB");
  };
  const Parts parts = split_unit(text);
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(),
                                 [&](const auto& entry) { return entry.first == parts.unit; });
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (unit == kUnits.end() || parts.number.empty() || !is_digit(parts.number.front())) {
    throw refuse();
  }
  std::uint64_t whole = 0;
  const char* const end = parts.number.data() + parts.number.size();
  const auto parsed = std::from_chars(parts.number.data(), end, whole);
  if (parsed.ptr == end) {
    // Whole numbers stay exact beyond the 53 bits of a double.
    if (parsed.ec != std::errc() || whole > UINT64_MAX / unit->second) {
      throw bad_input("size: found " + quoted(text), "expected less than 16 EiB");
    }
    return whole * unit->second;
  }
  double value = 0;
  const auto fraction = fast_float::from_chars(parts.number.data(), end, value);
  if (fraction.ec != std::errc() || fraction.ptr != end) throw refuse();
  value = std::floor(value * static_cast<double>(unit->second));
  if (!(value < 0x1p64)) {
    throw bad_input("size: found " + quoted(text), "expected less than 16 EiB");
  }
  // Half a byte is a slip, not a size.
  if (unit->second == 1) throw refuse();
  return static_cast<std::uint64_t>(value);
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array<std::string_view, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                             "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t power = 0;
  // 1,023.96 KiB would print as 1024.0: it belongs to the next unit.
  while (power + 1 < kUnits.size() && value >= (power == 0 ? 1024.0 : 1023.95)) {
    value /= 1024.0;
    ++power;
  }
  return trimmed(value, 1) + std::string(kUnits[power]);
}

std::string format_count(double count) {
  if (!std::isfinite(count)) return "unknown";
  const double size = std::abs(count);
  if (size >= 999.5 && size < 9'999.5) return with_thousands(count);
  return scaled_text(count);
}

std::string format_rate(double per_second, std::string_view unit) {
  if (!std::isfinite(per_second)) return "unknown " + std::string(unit) + "/s";
  std::string text = scaled_text(per_second);
  // A prefix belongs to a unit's symbol ("5.5 GB/s") and stands apart from a word ("1.2 k samples/s").
  const bool symbol = !unit.empty() && unit.front() >= 'A' && unit.front() <= 'Z';
  const bool prefixed = !text.empty() && text.back() >= 'A';
  if (!symbol || !prefixed) text += ' ';
  return text + std::string(unit) + "/s";
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "unknown";
  if (seconds < 0) return "-" + format_seconds(-seconds);
  if (seconds == 0) return "0 s";
  if (seconds < 999.5e-9) return three_digits(seconds * 1e9) + " ns";
  if (seconds < 999.5e-6) return three_digits(seconds * 1e6) + " us";
  if (seconds < 999.5e-3) return three_digits(seconds * 1e3) + " ms";
  if (seconds < 59.95) return three_digits(seconds) + " s";
  if (seconds < 3'599.5) {
    const auto whole = static_cast<std::int64_t>(std::llround(seconds));
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  if (seconds < 86'370) {
    const auto minutes = static_cast<std::int64_t>(std::llround(seconds / 60));
    return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  }
  // Beyond the years of int64 hours nobody reads the hours.
  if (seconds > 1e15) return fmt::format("{:.3g} d", seconds / 86'400);
  const auto hours = static_cast<std::int64_t>(std::llround(seconds / 3'600));
  return fmt::format("{} d {:02} h", hours / 24, hours % 24);
}

double parse_seconds(std::string_view text) {
  const Parts parts = split_unit(text);
  double unit = 0;
  if (parts.unit.empty() || parts.unit == "s") unit = 1;
  if (parts.unit == "ms") unit = 1e-3;
  if (parts.unit == "min") unit = 60;
  if (parts.unit == "h") unit = 3'600;
  if (parts.unit == "d") unit = 86'400;
  double value = -1;
  const char* const end = parts.number.data() + parts.number.size();
  const auto parsed = fast_float::from_chars(parts.number.data(), end, value);
  if (unit == 0 || parts.number.empty() || parsed.ec != std::errc() || parsed.ptr != end ||
      !std::isfinite(value * unit) || value < 0) {
    throw bad_input("time: found " + quoted(text),
                    "expected a number with an optional unit (ms s min h d), such as 90s or 5min");
  }
  return value * unit;
}

Duration parse_duration(std::string_view text) {
  const Parts parts = split_unit(text);
  Duration duration;
  duration.in_steps = parts.unit == "st";
  const char* const end = parts.number.data() + parts.number.size();
  const auto parsed = std::from_chars(parts.number.data(), end, duration.count);
  if ((!parts.unit.empty() && parts.unit != "ep" && parts.unit != "st") || parts.number.empty() ||
      parsed.ec != std::errc() || parsed.ptr != end || duration.count < 0) {
    throw bad_input("length of training: found " + quoted(text),
                    "expected a whole number of epochs or steps, such as 10ep or 500st");
  }
  return duration;
}

std::string format_duration(Duration duration) {
  return std::to_string(duration.count) + (duration.in_steps ? "st" : "ep");
}

}  // namespace ddl
