// Values of options that several programs take, with errors that name the option.
#pragma once

#include "ddl/base/dtype.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

// "3x32x32"; every extent at least 1.
Shape parse_shape(std::string_view text, std::string_view option);

// "2,1,0.5"
std::vector<double> parse_numbers(std::string_view text, std::string_view option);

// "hidden=128" …: a name given twice is an error.
std::map<std::string, std::string> parse_settings(const std::vector<std::string>& texts,
                                                  std::string_view option);

}  // namespace ddl
