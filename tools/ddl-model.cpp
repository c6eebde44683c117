// ddl-model: the built-in models, what a model costs layer by layer, and models as ONNX files.
#include "ddl/cli/app.h"
#include "ddl/model/report.h"

#include <iostream>
#include <memory>

namespace {

struct Arguments {
  ddl::ModelRequest request;
  std::filesystem::path output;
  bool json = false, force = false, bake_preprocessing = false;
};

void add_request(CLI::App& command, ddl::ModelRequest& request) {
  command.add_option("MODEL", request.model, "Built-in model (ddl-model list) or .onnx file")
      ->required();
  command.add_option("--dataset", request.dataset, "Data set that gives the shapes");
  command.add_option("--input", request.image, "Image shape in place of a data set, CxHxW");
  command.add_option("--features", request.features, "Numeric columns in place of a data set");
  command.add_option("--categories", request.categories,
                     "Values of each category column, as in 4,10,3");
  command.add_option("--classes", request.classes, "Classes, or outputs");
  command.add_option("--vocabulary", request.vocabulary, "Token ids");
  command.add_option("--context", request.context, "Tokens of a sample");
  command.add_option("--set", request.settings, "Model option NAME=VALUE; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  command.add_option("--seed", request.seed, "Of the initial parameters")->capture_default_str();
}

void list(const Arguments& arguments) {
  std::cout << (arguments.json ? ddl::model_list_json() : ddl::model_list_text());
}

void show(const Arguments& arguments) {
  const ddl::RequestedModel model = ddl::requested_model(arguments.request);
  if (!model.note.empty()) std::cerr << "ddl-model: " << model.note << '\n';
  std::cout << (arguments.json ? ddl::model_json(model) : ddl::model_text(model));
}

void write(const Arguments& arguments) {
  const std::string note = ddl::write_requested_model(
      arguments.request, arguments.output, arguments.bake_preprocessing, arguments.force);
  if (!note.empty()) std::cerr << "ddl-model: " << note << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  const ddl::ProgramInfo info{
      "ddl-model",
      "List, show and write models",
      {"ddl-model list", "ddl-model show resnet18 --input 3x32x32 --classes 10",
       "ddl-model show gpt --vocabulary 65 --context 64 --set layers=2 --json",
       "ddl-model write mlp --dataset data --set hidden=64,32 --seed 7 -o model.onnx",
       "ddl-model show model.onnx"}};
  return ddl::run_program(argc, argv, info, [](CLI::App& app) {
    app.require_subcommand(1);
    auto arguments = std::make_shared<Arguments>();
    CLI::App* command = app.add_subcommand("list", "Built-in models and their options");
    command->add_flag("--json", arguments->json, "As JSON");
    command->callback([arguments] { list(*arguments); });
    command = app.add_subcommand("show", "Layers with shapes, parameters and FLOPs");
    add_request(*command, arguments->request);
    command->add_flag("--json", arguments->json, "As JSON");
    command->callback([arguments] { show(*arguments); });
    command = app.add_subcommand("write", "Write a model with its initial parameters");
    add_request(*command, arguments->request);
    command->add_option("-o,--output", arguments->output, "ONNX file")->required();
    command->add_flag("--bake-preprocessing", arguments->bake_preprocessing,
                      "Take raw stored values: normalisation becomes part of the graph");
    command->add_flag("--force", arguments->force, "Replace an existing file");
    command->callback([arguments] { write(*arguments); });
  });
}
