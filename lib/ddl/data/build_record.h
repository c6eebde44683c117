// What a manifest remembers of a build: the data's name and the options that shaped it.
#pragma once

#include "ddl/data/build.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

// Options as the user would say them again; those that cannot matter for the format or have their
// usual value are left out. Holds names, never folders.
std::map<std::string, std::string> shaping_options(const BuildOptions& options,
                                                   const std::string& format);

// "digits" for "data/digits.csv.gz".
std::string plain_name(const std::filesystem::path& path);

std::string joined_text(const std::vector<std::string>& texts, std::string_view between = ", ");

}  // namespace ddl
