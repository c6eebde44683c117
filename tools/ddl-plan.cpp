// ddl-plan: who runs which tasks of a step, from measured rates, a model and a data set.
#include "ddl/base/error.h"
#include "ddl/base/log.h"
#include "ddl/cli/app.h"
#include "ddl/cli/values.h"
#include "ddl/plan/request.h"

#include <iostream>
#include <memory>

namespace {

struct Arguments {
  ddl::PlanCommand command;
  std::vector<std::string> settings;
  std::string rates;
  bool explain = false, json = false, force = false;
};

void define(CLI::App& app, Arguments& a) {
  ddl::PlanCommand& c = a.command;
  ddl::Numerics& n = c.numerics;
  app.add_option("--cluster", c.cluster, "What the workers can do, from ddl-profile");
  app.add_option("--dataset", c.dataset, "Data set, from ddl-shard")->required();
  app.add_option("--model", c.model, "Built-in model (ddl-model list) or .onnx file")->required();
  app.add_option("--set", a.settings, "Model option NAME=VALUE; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  app.add_option("-o,--output", c.output, "The plan's file; - for standard output");
  app.add_option("--batch", n.global_batch, "Samples of a step, over all workers")
      ->capture_default_str();
  app.add_option("--task", c.task_samples, "Samples of a task (default: chosen)")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", n.seed, "Of weights and order")->capture_default_str();
  app.add_option("--order", n.order, "How each epoch is shuffled: full or none")
      ->check(CLI::IsMember({"full", "none"}))
      ->capture_default_str();
  app.add_option("--isa", n.isa, "Cap of the instruction set: native, avx2 or avx512")
      ->check(CLI::IsMember({"native", "avx2", "avx512"}))
      ->capture_default_str();
  app.add_option("--reduction", n.reduction, "How gradients are summed: exact or fast")
      ->check(CLI::IsMember({"exact", "fast"}))
      ->capture_default_str();
  app.add_option("--dtype", n.dtype, "Of activations and products: float32 or bfloat16")
      ->check(CLI::IsMember({"float32", "bfloat16"}))
      ->capture_default_str();
  app.add_option("--np", c.workers, "The first N workers; without --cluster: N equal ones")
      ->check(CLI::PositiveNumber);
  app.add_option("--rates", a.rates, "Relative speeds by hand, as in 2,1");
  app.add_flag("--explain", a.explain, "Print the plan as a table");
  app.add_flag("--json", a.json, "Print the plan as JSON");
  app.add_flag("--force", a.force, "Replace an existing file");
}

void run(Arguments& a) {
  const bool to_stdout = a.command.output == "-";
  if (a.command.output.empty()) {
    if (!a.explain && !a.json)
      throw ddl::bad_input("there is no output", "say -o FILE, --explain or --json");
    a.command.output = "-";
  }
  a.command.model_options = ddl::parse_settings(a.settings, "--set");
  if (!a.rates.empty()) a.command.rates = ddl::parse_numbers(a.rates, "--rates");
  const ddl::Plan plan = ddl::make_plan(ddl::plan_request(a.command));
  if (a.command.output != "-") ddl::put_plan(plan, a.command.output, a.force);
  for (const std::string& note : plan.notes) {
    if (note.starts_with("warning: "))
      ddl::log_warning(note.substr(9));
    else if (!a.explain)
      ddl::log_info(note);
  }
  // Data first: beside a plan on standard output, the table is talk.
  const bool json = a.json || to_stdout;
  if (json) std::cout << ddl::plan_text(plan);
  if (a.explain) (json ? std::cerr : std::cout) << ddl::explain_plan(plan);
}

}  // namespace

int main(int argc, char** argv) {
  const ddl::ProgramInfo info{
      "ddl-plan",
      "Share a step's tasks out among workers, and predict times",
      {"ddl-plan --cluster cluster.json --dataset data --model mlp -o plan.json --explain",
       "ddl-plan --np 3 --dataset data --model resnet18 --batch 96 --task 8 -o plan.json",
       "ddl-plan --np 2 --rates 2,1 --dataset data --model model.onnx -o -"}};
  return ddl::run_program(argc, argv, info, [](CLI::App& app) {
    auto arguments = std::make_shared<Arguments>();
    define(app, *arguments);
    app.callback([arguments] { run(*arguments); });
  });
}
