// ddl-profile: measures this machine, or with mpirun several, and writes cluster.json for ddl-plan.
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/log.h"
#include "ddl/base/units.h"
#include "ddl/cli/app.h"
#include "ddl/comm/mpi.h"
#include "ddl/model/report.h"
#include "ddl/profile/profile.h"
#include "ddl/train/agreement.h"
#include "ddl/train/launch.h"
#include "ddl/train/worker.h"

#include <iostream>
#include <memory>

namespace {

struct Options {
  ddl::ProfileOptions profile;
  std::vector<std::string> settings, hosts;
  std::string maximum_time = "60s";
  std::filesystem::path output;
  int np = 0;
  bool allow_root = false, force = false, json = false;
  bool to_file() const { return !output.empty() && output != "-"; }
};

void register_options(CLI::App& app, Options& o) {
  app.add_option("-o,--output", o.output,
                 "Write cluster.json here; - for standard output, instead of the table");
  app.add_flag("--force", o.force, "Replace an existing output");
  app.add_flag("--json", o.json, "Print the measurements as JSON instead of a table");
  app.add_option("--model", o.profile.model,
                 "Also time the tasks of this model: built-in (ddl-model list) or .onnx file");
  app.add_option("--set", o.settings, "Model option NAME=VALUE; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("--dataset", o.profile.dataset, "Data set that the model trains on");
  app.add_option("--task-sizes", o.profile.task_sizes,
                 "Samples of a task to time, as 8,16 (default: powers of two while they fit)")
      ->delimiter(',');
  app.add_option("--storage", o.profile.storage,
                 "Folder whose read rate is measured with a temporary file (default: the data "
                 "set's shards when large enough, else the working folder)");
  app.add_option("--max-time", o.maximum_time, "Time limit, as 30s or 2min")->capture_default_str();
  app.add_option("--np", o.np, "Number of workers; more than 1 are started with mpirun")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--hosts", o.hosts, "Hosts to measure, as a,b or a:2,b:1")->delimiter(',');
  app.add_flag("--allow-run-as-root", o.allow_root, "Let mpirun run as root");
}

// Holds the place of the output from the first moment: whether it can be written shows now.
std::unique_ptr<ddl::OutputFile> open_output(const Options& o) {
  if (!o.to_file()) return nullptr;
  try {
    return std::make_unique<ddl::OutputFile>(o.output, o.force);
  } catch (const ddl::Error& error) {
    throw ddl::bad_input(error.reason(), error.remedy()).with_file(o.output.string());
  }
}

void work(ddl::Communicator& world, const Options& o) {
  if (o.np > 0 && o.np != world.size())
    throw ddl::bad_input("--np " + std::to_string(o.np) + ", but the launcher started " +
                         std::to_string(world.size()) + " workers");
  std::unique_ptr<ddl::OutputFile> output;
  std::unique_ptr<ddl::Profiler> profiler;
  ddl::agree(world, [&] {
    if (world.rank() == 0) output = open_output(o);
    profiler = std::make_unique<ddl::Profiler>(world, o.profile);
  });
  ddl::require_same_settings(world, profiler->settings());
  const ddl::Cluster cluster = profiler->run();
  if (world.rank() != 0) return;
  const std::string text = ddl::cluster_text(cluster);
  if (output) {
    output->write(text);
    output->commit();
  }
  std::cout << (o.json || o.output == "-" ? text : ddl::cluster_report(cluster));
}

int run(Options& o, int argc, char** argv) {
  o.profile.model_options = ddl::parse_settings(o.settings);
  o.profile.maximum_seconds = ddl::parse_seconds(o.maximum_time);
  if (!ddl::launch_environment().launched && (o.np > 1 || !o.hosts.empty())) {
    open_output(o);
    ddl::LaunchRequest request;
    request.explicit_np = o.np > 0;
    request.allow_root = o.allow_root;
    request.hosts = o.hosts;
    request.workers = o.np > 0 ? o.np : static_cast<int>(o.hosts.size());
    request.forwarded = ddl::forwarded_variables();
    request.command = {ddl::own_program().string()};
    request.command.insert(request.command.end(), argv + 1, argv + argc);
    const ddl::LaunchCommand command = ddl::launch_command(request, ddl::host_facts());
    for (const std::string& remark : command.remarks) ddl::log_info(remark);
    return ddl::launch(command);
  }
  ddl::MpiEnvironment mpi(&argc, &argv);
  return ddl::run_worker(mpi.world(), [&] { work(mpi.world(), o); });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int status = 0;
  const ddl::ProgramInfo info = {
      "ddl-profile",
      "Measure processors, memory, storage and links, and the tasks of a model",
      {"ddl-profile -o cluster.json",
       "ddl-profile --np 2 --model mlp --dataset data -o cluster.json",
       "ddl-profile --hosts fast,slow --model resnet18 --dataset data -o cluster.json",
       "mpirun -np 4 ddl-profile -o cluster.json", "ddl-profile --max-time 10s --json"}};
  const int code = ddl::run_program(argc, argv, info, [&](CLI::App& app) {
    register_options(app, options);
    app.callback([&] { status = run(options, argc, argv); });
  });
  return code != 0 ? code : status;
}
