#include "ddl/cli/configuration.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace ddl::cli {
namespace {

bool is_section_mark(const CLI::ConfigItem& item) {
  return item.name == "++" || item.name == "--";
}

const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
  if (const CLI::Option* found = app.get_option_no_throw("--" + name)) return found;
  if (name.size() == 1)
    if (const CLI::Option* found = app.get_option_no_throw("-" + name)) return found;
  return app.get_option_no_throw(name);
}

const CLI::App* find_subcommand(const CLI::App& app, const std::string& name) {
  for (const CLI::App* one : app.get_subcommands([](const CLI::App*) { return true; }))
    if (one->get_name() == name) return one;
  return nullptr;
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return out;
}

// CLI11 reads both kinds of quotes and no escapes.
std::string quoted(const std::string& text) {
  const char quote = text.find('"') == std::string::npos ? '"' : '\'';
  return std::string(1, quote) + text + quote;
}

}  // namespace

std::string options_text(const CLI::App& app) {
  std::string text;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_configurable() || option->get_lnames().empty()) continue;
    std::vector<std::string> values = option->results();
    if (values.empty() && !option->get_default_str().empty())
      values.push_back(option->get_default_str());
    if (values.empty()) continue;
    std::string line;
    for (const std::string& value : values) line += (line.empty() ? "" : ", ") + quoted(value);
    text +=
        option->get_lnames().front() + "=" + (values.size() > 1 ? "[" + line + "]" : line) + "\n";
  }
  return text;
}

std::string environment_name(std::string_view program, std::string_view option) {
  return upper(option == "log-level" ? "ddl" : program) + "_" + upper(option);
}

void name_environment(CLI::App& app, std::string_view program) {
  for (CLI::Option* option : app.get_options())
    if (option->get_configurable() && option->get_envname().empty() &&
        !option->get_lnames().empty())
      option->envname(environment_name(program, option->get_lnames().front()));
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; }))
    name_environment(*sub, program);
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) out.push_back(name);
  return out;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!sub->get_name().empty()) out.push_back(sub->get_name());
  return out;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& names,
                       std::string_view prefix) {
  std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = nearest_name(word, views.data(), views.data() + views.size());
  return near.empty() ? "" : "did you mean " + std::string(prefix) + near + "?";
}

std::string ConfigReader::file() const {
  const CLI::Option* option = app_.get_config_ptr();
  return option != nullptr && option->count() > 0 ? option->as<std::string>() : "configuration";
}

const CLI::App& ConfigReader::section(const CLI::ConfigItem& item) const {
  const CLI::App* app = &app_;
  for (const std::string& name : item.parents) {
    const CLI::App* next = find_subcommand(*app, name);
    if (next == nullptr)
      throw bad_input("unknown section [" + name + "]", suggestion(name, subcommand_names(*app)))
          .with_file(file());
    app = next;
  }
  return *app;
}

const CLI::Option& ConfigReader::option(const CLI::App& app, const CLI::ConfigItem& item) const {
  if (const CLI::Option* found = find_option(app, item.name)) return *found;
  const std::string key = item.fullname();
  std::string remedy = suggestion(item.name, option_names(app));
  // The right key in the wrong section.
  for (const CLI::App* sub : app_.get_subcommands([](const CLI::App*) { return true; }))
    if (find_option(*sub, item.name) != nullptr)
      remedy = "it belongs in section [" + sub->get_name() + "]";
  if (&app != &app_ && find_option(app_, item.name) != nullptr)
    remedy = "it belongs before the first section";
  throw bad_input("unknown key '" + key + "'", remedy).with_file(file());
}

std::vector<CLI::ConfigItem> ConfigReader::from_config(std::istream& input) const {
  std::vector<CLI::ConfigItem> found_items = CLI::ConfigTOML::from_config(input);
  std::vector<CLI::ConfigItem> out;
  for (CLI::ConfigItem& item : found_items) {
    const CLI::App& app = section(item);
    if (!is_section_mark(item)) {
      const CLI::Option& found = option(app, item);
      const std::string variable = found.get_envname();
      if (const char* value = variable.empty() ? nullptr : std::getenv(variable.c_str());
          value != nullptr && *value != '\0')
        continue;
    }
    out.push_back(std::move(item));
  }
  return out;
}

}  // namespace ddl::cli
