// ddl-train: runs a plan. Started by hand it starts the plan's workers with mpirun; started by
// mpirun or srun it is one of them.
#include "ddl/base/error.h"
#include "ddl/base/log.h"
#include "ddl/base/units.h"
#include "ddl/cli/app.h"
#include "ddl/comm/mpi.h"
#include "ddl/train/launch.h"
#include "ddl/train/report.h"
#include "ddl/train/setup.h"
#include "ddl/train/signals.h"
#include "ddl/train/trainer.h"
#include "ddl/train/worker.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>

namespace {

struct Options {
  ddl::TrainOptions train;
  ddl::EvaluateOptions evaluate;
  int np = 0;
  std::vector<std::string> hosts;
  std::string class_weights, maximum_time;
  bool dry_run = false, allow_root = false, json = false;
};

void register_options(CLI::App& app, Options& o) {
  ddl::TrainOptions& train = o.train;
  ddl::TrainingRecipe& recipe = train.recipe;
  const std::string files = "Files", workers = "Workers", recipes = "Training", running = "Running",
                    evaluation = "Evaluation";
  app.add_option("--plan", train.plan, "The plan, from ddl-plan")->group(files);
  app.add_option("-o,--output", train.output, "The run's folder")->group(files);
  app.add_option("--init", recipe.init, "Model (.onnx) whose weights training begins with")
      ->group(files);
  app.add_flag("--resume", train.resume, "Go on from the newest whole checkpoint in the output")
      ->group(files);
  app.add_flag("--force", train.force, "Replace a run in the output folder")->group(files);
  app.add_flag("--bake-preprocessing", train.bake_preprocessing,
               "Put the normalisation into model.onnx, so that it takes raw inputs")
      ->group(files);

  app.add_option("--np", o.np, "Number of workers, instead of the plan's")
      ->check(CLI::Range(1, 1 << 20))
      ->group(workers);
  app.add_option("--hosts", o.hosts, "Hosts to run on, as a,b or a:2,b:1")
      ->delimiter(',')
      ->group(workers);
  app.add_flag("--allow-run-as-root", o.allow_root, "Let mpirun run as root")->group(workers);

  app.add_option("--optimizer", recipe.optimizer, "sgd or adamw")
      ->check(CLI::IsMember({"sgd", "adamw"}))
      ->capture_default_str()
      ->group(recipes);
  app.add_option("--learning-rate", recipe.learning_rate, "Learning rate")
      ->capture_default_str()
      ->group(recipes);
  app.add_option("--momentum", recipe.momentum, "Momentum of sgd")
      ->capture_default_str()
      ->group(recipes);
  app.add_option("--beta1", recipe.beta1, "Of adamw")->capture_default_str()->group(recipes);
  app.add_option("--beta2", recipe.beta2, "Of adamw")->capture_default_str()->group(recipes);
  app.add_option("--epsilon", recipe.epsilon, "Of adamw")->capture_default_str()->group(recipes);
  app.add_option("--weight-decay", recipe.weight_decay, "Weight decay (adamw: decoupled)")
      ->capture_default_str()
      ->group(recipes);
  app.add_option("--schedule", recipe.schedule, "constant or cosine")
      ->check(CLI::IsMember({"constant", "cosine"}))
      ->capture_default_str()
      ->group(recipes);
  app.add_option("--final-learning-rate", recipe.final_learning_rate, "Where cosine ends")
      ->capture_default_str()
      ->group(recipes);
  app.add_option("--warmup", recipe.warmup, "Linear warm-up, as 1ep or 500st")
      ->capture_default_str()
      ->group(recipes);
  app.add_option("--length", recipe.length, "Length of the training, as 10ep or 5000st")
      ->capture_default_str()
      ->group(recipes);
  app.add_option("--class-weights", o.class_weights, "balanced, or one weight per class: 1,4.5")
      ->group(recipes);
  app.add_option("--best", train.best_metric,
                 "Make model.onnx the best by this metric, as \"val accuracy\"")
      ->group(recipes);
  app.add_option("--patience", train.patience,
                 "Stop after this many evaluations without a better one; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group(recipes);
  app.add_option("--seed", train.seed, "Another seed than the plan's (with --change-numerics)")
      ->group(recipes);
  app.add_flag("--change-numerics", train.change_numerics,
               "Allow what changes the bits of the result; named in run.json")
      ->group(recipes);

  app.add_option("--checkpoint-every", train.checkpoint_every,
                 "As 1ep or 500st; 0: at the end only")
      ->capture_default_str()
      ->group(running);
  app.add_option("--keep", train.keep_checkpoints, "Checkpoints to keep, besides the best one")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(running);
  app.add_option("--max-time", o.maximum_time,
                 "Write a checkpoint and stop (exit 75) after this long, as 90s or 2h")
      ->group(running);
  app.add_option("--max-skipped", train.maximum_skipped_steps,
                 "Give up after this many steps in a row with values that are not finite")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group(running);
  app.add_flag("--dry-run", o.dry_run, "Check everything, print what would be done, write nothing")
      ->group(running);

  app.add_option("--eval", o.evaluate.model, "Evaluate this model (.onnx) instead of training")
      ->group(evaluation);
  app.add_option("--dataset", o.evaluate.dataset, "The data set to evaluate on; else the plan's")
      ->group(evaluation);
  app.add_option("--split", o.evaluate.split, "The split to evaluate on")
      ->capture_default_str()
      ->group(evaluation);
  app.add_option("--predictions", o.evaluate.predictions,
                 "Write predictions as CSV; - for standard output")
      ->group(evaluation);
  app.add_flag("--json", o.json, "Print the result as one JSON object");
}

// DDL_TEST_FAIL=RANK:STEP makes a worker fail there: how the tests see to it that all others end.
void read_test_hook(ddl::TrainFaults& faults) {
  const char* text = std::getenv("DDL_TEST_FAIL");
  if (text == nullptr) return;
  const std::string_view hook(text);
  const std::size_t colon = hook.find(':');
  faults.fail_rank = static_cast<int>(ddl::parse_int(hook.substr(0, colon), "DDL_TEST_FAIL"));
  faults.fail_step = ddl::parse_int(hook.substr(colon + 1), "DDL_TEST_FAIL");
}

void finish_options(Options& o, int argc, char** argv) {
  o.train.command.assign(argv, argv + argc);
  o.train.explicit_np = o.np > 0;
  if (!o.maximum_time.empty()) o.train.maximum_seconds = ddl::parse_seconds(o.maximum_time);
  if (o.class_weights == "balanced") {
    o.train.balanced_class_weights = true;
  } else if (!o.class_weights.empty()) {
    o.train.recipe.class_weights = ddl::parse_class_weights(o.class_weights);
  }
  if (o.train.plan.empty() && (o.evaluate.model.empty() || o.evaluate.dataset.empty()))
    throw ddl::bad_input(
        o.evaluate.model.empty() ? "no plan was given" : "no data set was given to evaluate on",
        o.evaluate.model.empty() ? "--plan FILE, from ddl-plan"
                                 : "--dataset FOLDER or --plan FILE");
  if (o.evaluate.model.empty() && o.train.output.empty() && !o.dry_run)
    throw ddl::bad_input("no output folder was given", "-o RUN");
  if (o.evaluate.dataset.empty() && !o.evaluate.model.empty())
    o.evaluate.dataset = ddl::planned_dataset(o.train.plan);
  o.evaluate.predictions_sink = [](std::string_view text) { std::cout << text; };
  o.train.stop_requested = ddl::StopSignals::requested;
  read_test_hook(o.train.faults);
}

void work(ddl::Communicator& world, const Options& o) {
  const bool speaks = world.rank() == 0;
  if (o.np > 0 && o.np != world.size())
    throw ddl::bad_input("--np " + std::to_string(o.np) + ", but the launcher started " +
                         std::to_string(world.size()) + " workers");
  if (!o.evaluate.model.empty()) {
    const auto metrics = ddl::evaluate(world, o.evaluate);
    std::ostream& out = o.evaluate.predictions == "-" ? std::cerr : std::cout;
    if (speaks) out << (o.json ? ddl::metrics_json(metrics) : ddl::metrics_text(metrics));
  } else if (o.dry_run) {
    const std::string text = ddl::preview(world, o.train);
    if (speaks) std::cout << text;
  } else {
    const ddl::RunRecord record = ddl::train(world, o.train);
    if (!speaks) return;
    std::cerr << ddl::report_text(record);
    std::cout << (o.json ? ddl::result_json(record) : ddl::result_text(record));
  }
}

int run(Options& o, int argc, char** argv) {
  finish_options(o, argc, argv);
  const bool training = o.evaluate.model.empty();
  if (!ddl::launch_environment().launched) {
    ddl::LaunchRequest request;
    request.explicit_np = o.np > 0;
    request.allow_root = o.allow_root;
    request.hosts = o.hosts;
    if (training) request.planned_hosts = ddl::planned_hosts(o.train.plan);
    request.workers =
        o.np > 0 ? o.np : std::max<int>(1, static_cast<int>(request.planned_hosts.size()));
    request.forwarded = ddl::forwarded_variables();
    request.command = {ddl::own_program().string()};
    request.command.insert(request.command.end(), argv + 1, argv + argc);
    if (request.workers > 1 || !o.hosts.empty()) {
      const ddl::LaunchCommand command = ddl::launch_command(request, ddl::host_facts());
      for (const std::string& remark : command.remarks) ddl::log_info(remark);
      return ddl::launch(command);
    }
  }
  const ddl::StopSignals signals;
  ddl::MpiEnvironment mpi(&argc, &argv);
  return ddl::run_worker(mpi.world(), [&] { work(mpi.world(), o); });
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int status = 0;
  const ddl::ProgramInfo info = {
      "ddl-train",
      "Train a planned model on the plan's workers, or evaluate a model",
      {"ddl-train --plan plan.json -o run",
       "ddl-train --plan plan.json --optimizer adamw --learning-rate 0.001 --schedule cosine -o "
       "run",
       "ddl-train --plan plan.json --hosts fast,slow -o run",
       "ddl-train --plan plan.json -o run --resume",
       "ddl-train --eval run/model.onnx --dataset data --predictions out.csv"}};
  const int code = ddl::run_program(argc, argv, info, [&](CLI::App& app) {
    register_options(app, options);
    app.callback([&] { status = run(options, argc, argv); });
  });
  return code != 0 ? code : status;
}
