// A program with nothing but a command line, to hold run_program to what its header says.
#include "ddl/base/error.h"
#include "ddl/base/log.h"
#include "ddl/cli/app.h"
#include "ddl/cli/values.h"

#include <iostream>
#include <memory>
#include <new>

namespace {

struct Options {
  std::string model, fail;
  int batch = 64;
  double rate = 0.1;
  bool fast = false;
  std::vector<std::string> settings;
};

void show(const Options& o) {
  std::cout << "model=" << o.model << " batch=" << o.batch << " rate=" << o.rate
            << " fast=" << o.fast;
  for (const auto& [name, value] : ddl::parse_settings(o.settings, "--set"))
    std::cout << ' ' << name << '=' << value;
  std::cout << '\n';
  ddl::log_info("spoken at info");
  if (o.fail == "input") throw ddl::bad_input("two\nlines", "mend it").with_file("some.file");
  if (o.fail == "failure") throw ddl::failure("broken");
  if (o.fail == "stopped") throw ddl::Error(ddl::ErrorKind::stopped, "stopped");
  if (o.fail == "other") throw std::runtime_error("other");
  if (o.fail == "memory") throw std::bad_alloc();
}

}  // namespace

int main(int argc, char** argv) {
  return ddl::run_program(
      argc, argv,
      {"ddl-probe", "Probe command lines", {"ddl-probe run --model mlp", "ddl-probe list"}},
      [](CLI::App& app) {
        app.require_subcommand(1);
        auto o = std::make_shared<Options>();
        CLI::App* run = app.add_subcommand("run", "Run it");
        run->add_option("--model", o->model, "A model")->required();
        run->add_option("--batch", o->batch, "Samples")->capture_default_str();
        run->add_option("--learning-rate", o->rate, "Rate")->capture_default_str();
        run->add_flag("--fast", o->fast, "Fast");
        run->add_option("--set", o->settings, "NAME=VALUE")->take_all()->allow_extra_args(false);
        run->add_option("--fail", o->fail, "How to fail");
        run->callback([o] { show(*o); });
        app.add_subcommand("list", "List")->callback([] { std::cout << "listed\n"; });
      });
}
