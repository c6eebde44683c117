#include "ddl/cli/values.h"

#include "ddl/base/error.h"
#include "ddl/base/units.h"

namespace ddl {
namespace {

std::vector<std::string_view> pieces(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = text.find(separator);
    out.push_back(text.substr(0, end));
    if (end != std::string_view::npos) text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace

Shape parse_shape(std::string_view text, std::string_view option) {
  Shape shape;
  for (const std::string_view piece : pieces(text, 'x')) {
    shape.push_back(parse_int(piece, option));
    if (shape.back() < 1)
      throw bad_input(std::string(option) + ": found " + std::string(text) +
                      ", expected extents of at least 1, as in 3x32x32");
  }
  return shape;
}

std::vector<double> parse_numbers(std::string_view text, std::string_view option) {
  std::vector<double> out;
  for (const std::string_view piece : pieces(text, ',')) out.push_back(parse_double(piece, option));
  return out;
}

std::map<std::string, std::string> parse_settings(const std::vector<std::string>& texts,
                                                  std::string_view option) {
  std::map<std::string, std::string> out;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      throw bad_input(std::string(option) + ": found '" + text + "', expected NAME=VALUE");
    if (!out.emplace(text.substr(0, equals), text.substr(equals + 1)).second)
      throw bad_input(std::string(option) + ": '" + text.substr(0, equals) + "' is given twice");
  }
  return out;
}

}  // namespace ddl
