// Options from the environment and from configuration files. Inside cli only.
//
// CLI11 by itself lets a file beat the environment and names no near key; both are mended here:
// items of options whose variable is set are dropped from the file before CLI11 sees them, and
// every key is looked up first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace ddl::cli {

// "DDL_TRAIN_MAX_TIME" of ("ddl-train", "max-time").
std::string environment_name(std::string_view program, std::string_view option);

// Gives every option of the app and its subcommands its variable, unless it has one.
void name_environment(CLI::App& app, std::string_view program);

// The long option names of an app, without dashes.
std::vector<std::string> option_names(const CLI::App& app);
std::vector<std::string> subcommand_names(const CLI::App& app);
// "; did you mean PREFIXname?" or "".
std::string suggestion(std::string_view word, const std::vector<std::string>& names,
                       std::string_view prefix = {});

// "key=value" lines of an app's options that have a value: given, or a default that is shown.
std::string options_text(const CLI::App& app);

// Reads configuration files for `app`, which must outlive it.
class ConfigReader : public CLI::ConfigTOML {
 public:
  explicit ConfigReader(const CLI::App& app) : app_(app) {}
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  // The app a section stands for; throws bad_input when there is none.
  const CLI::App& section(const CLI::ConfigItem& item) const;
  const CLI::Option& option(const CLI::App& section, const CLI::ConfigItem& item) const;
  std::string file() const;
  const CLI::App& app_;
};

}  // namespace ddl::cli
