#include "ddl/cli/app.h"

#include "ddl/base/error.h"
#include "ddl/base/log.h"
#include "ddl/cli/configuration.h"

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <memory>
#include <new>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace ddl {
namespace {

constexpr int kDone = 0, kFailed = 1, kBadUsage = 2;

// Help without a "(Env:…)" behind every option: one line at the end says the rule.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(34); }
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::size_t begin = text.find(" (" + get_label("Env") + ":");
    if (begin != std::string::npos) text.erase(begin, text.find(')', begin) - begin + 1);
    return text;
  }
};

std::string footer(const ProgramInfo& info, const std::string& command) {
  std::string text;
  for (const std::string& example : info.examples)
    if (command.empty() || (example + " ").starts_with(info.name + " " + command + " "))
      text += "  " + example + "\n";
  if (!text.empty()) text = "Examples:\n" + text + "\n";
  return text + "Options may also come from the environment (--log-level: DDL_LOG_LEVEL; others: " +
         cli::environment_name(info.name, "option") +
         ")\nor from a file given with --config; the command line wins, then the environment.";
}

void define_common(CLI::App& app, std::string& log_level, bool& print_config) {
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", version_text(), "Print versions and exit")->configurable(false);
  app.add_option("--log-level", log_level, "debug, info, warning, error or off")
      ->capture_default_str();
  app.set_config("--config", "", "Read options from a TOML or INI file")->configurable(false);
  app.add_flag("--print-config", print_config, "Print all options as such a file and exit")
      ->configurable(false);
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.config_formatter(std::make_shared<cli::ConfigReader>(app));
}

// After the program has defined its own options. The common ones may stand behind a command too.
void finish_definition(CLI::App& app, const ProgramInfo& info) {
  cli::name_environment(app, info.name);
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) {
    sub->fallthrough();
    if (!sub->get_name().empty() && sub->get_footer().empty())
      sub->footer(footer(info, sub->get_name()));
  }
  if (app.get_footer().empty()) app.footer(footer(info, ""));
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' &&
         std::string_view("0123456789.").find(word[1]) == std::string_view::npos;
}

// What CLI11 could not place says more than the error it raised first (a misspelled required option
// would be reported as missing).
std::string usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unplaced = app.remaining(true);
  const std::vector<CLI::App*> chosen = const_cast<CLI::App&>(app).get_subcommands();
  if (chosen.empty() && !cli::subcommand_names(app).empty())
    for (const std::string& word : unplaced)
      if (!is_option(word)) {
        const std::string near = cli::suggestion(word, cli::subcommand_names(app));
        return "unknown command '" + word + "'" + (near.empty() ? "" : "; " + near);
      }
  for (const std::string& word : unplaced)
    if (is_option(word)) {
      const std::string name = word.substr(0, word.find('='));
      std::vector<std::string> names = cli::option_names(app);
      for (const CLI::App* sub : chosen)
        for (std::string& one : cli::option_names(*sub)) names.push_back(std::move(one));
      const std::string near = cli::suggestion(
          name.substr(std::min(name.find_first_not_of('-'), name.size())), names, "--");
      return "unknown option " + name + (near.empty() ? "" : "; " + near);
    }
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !unplaced.empty())
    return "unexpected argument '" + unplaced.front() + "'";
  return error.what();
}

// A program started with a standard stream closed must not get a data file under its number.
void open_standard_streams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor)
    if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF)
      // Lowest free number first, so that it is this one; reading only, so that writes fail.
      if (::open("/dev/null", O_RDONLY) < 0) return;
}

void report(const ProgramInfo& info, std::string_view what) {
  std::cout.flush();
  std::cerr << info.name << ": error: " << what << '\n' << std::flush;
}

// Everything that was written must have arrived: a full disk may show only now.
bool stdout_is_sound() {
  errno = 0;
  std::cout.flush();
  bool sound = std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  // Closing a copy shows what a network file system held back.
  if (const int copy = sound ? ::dup(STDOUT_FILENO) : -1; copy >= 0) sound = ::close(copy) == 0;
  return sound;
}

struct PrintConfig {};

int parse_and_run(CLI::App& app, int argc, const char* const* argv, const ProgramInfo& info) {
  try {
    app.parse(argc, argv);
    return kDone;
  } catch (const PrintConfig&) {
    std::cout << configuration_text(app);
    return kDone;
  } catch (const CLI::Success& request) {  // --help, --version
    app.exit(request, std::cout, std::cerr);
    return kDone;
  } catch (const CLI::ParseError& error) {
    report(info, bad_input(usage_error(app, error), "see " + info.name + " --help").what());
    return kBadUsage;
  } catch (const Error& error) {
    report(info, error.what());
    return error.exit_code();
  } catch (const CLI::Error& error) {  // a program that defines its options wrongly
    report(info, error.what());
    return kFailed;
  } catch (const std::bad_alloc&) {
    report(info, "out of memory");
    return kFailed;
  } catch (const std::exception& error) {
    report(info, error.what());
    return kFailed;
  }
}

}  // namespace

int run_program(int argc, const char* const* argv, const ProgramInfo& info,
                const std::function<void(CLI::App&)>& define) {
  open_standard_streams();
  CLI::App app(info.description, info.name);
  std::string log_level = "info";
  bool print_config = false;
  int code = kFailed;
  try {
    define_common(app, log_level, print_config);
    define(app);
    finish_definition(app, info);
    // Before the program's own callbacks, which CLI11 runs after this one.
    app.parse_complete_callback([&] {
      set_log_level(parse_log_level(log_level));
      if (print_config) throw PrintConfig();
    });
    code = parse_and_run(app, argc, argv, info);
  } catch (const std::exception& error) {
    report(info, error.what());
  }
  if (!stdout_is_sound() && code == kDone) {
    report(info, system_failure("standard output could not be written", errno).what());
    code = kFailed;
  }
  return code;
}

std::string configuration_text(const CLI::App& app) {
  std::string text = cli::options_text(app);
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    if (sub->parsed()) text += "\n[" + sub->get_name() + "]\n" + cli::options_text(*sub);
  return text;
}

std::string version_text() {
  return DDL_VERSION_TEXT;
}

}  // namespace ddl
