// ddl-train --eval: a finished model on a split of a data set.
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/log.h"
#include "ddl/model/onnx.h"
#include "ddl/train/agreement.h"
#include "ddl/train/evaluation.h"
#include "ddl/train/setup.h"
#include "ddl/train/trainer.h"

#include <memory>

namespace ddl {
namespace {

// What the model was trained to take must be what the data set gives: same classes in the same
// order, same preprocessing, same tokens.
void require_same_meaning(const ModelMetadata& model, const DatasetManifest& manifest) {
  const std::string remedy =
      "build the data set with the classes and statistics of the training data";
  if (!model.classes.empty() && model.classes != manifest.classes)
    throw bad_input("the model's classes are not those of the data set, or in another order",
                    remedy);
  if (!model.tokenizer.kind.empty() && !(model.tokenizer == manifest.tokenizer))
    throw bad_input("the model's tokenizer is not that of the data set", remedy);
  const ModelMetadata data = model_metadata(manifest);
  for (const Field& field : model.inputs)
    for (const Field& given : data.inputs)
      if (field.name == given.name &&
          (!(field.normalisation == given.normalisation) || field.categories != given.categories))
        throw bad_input("the field '" + field.name +
                            "' of the data set is normalised or coded in another way than the "
                            "model was trained with",
                        remedy);
}

}  // namespace

std::map<std::string, double> evaluate(Communicator& communicator, const EvaluateOptions& options) {
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Graph> model;
  std::unique_ptr<Weights> weights;
  std::unique_ptr<Evaluator> evaluator;
  std::string how;
  agree(communicator, [&] {
    ImportedModel imported = load_onnx(options.model);
    model = std::make_unique<Graph>(std::move(imported.graph));
    dataset = std::make_unique<Dataset>(options.dataset);
    const DatasetManifest& manifest = dataset->manifest();
    if (manifest.samples(options.split) == 0)
      throw bad_input("the data set has no samples in split '" + options.split + "'",
                      "--split names another one; ddl-shard info lists them")
          .with_file(options.dataset.string());
    try {
      require_same_meaning(imported.metadata, manifest);
      require_output_width(*model, manifest);
      match_inputs(*model, BatchReader(*dataset, options.split).inputs());
    } catch (Error& error) {
      throw error.with_file(options.model.string());
    }
    weights = std::make_unique<Weights>(*model);
    const int lanes = choose_lanes(1 << 20, communicator.local_size(), &how);
    evaluator = std::make_unique<Evaluator>(communicator, *dataset, *model, default_loss(manifest),
                                            ExecutorOptions{}, lanes);
  });
  std::string rows;
  const bool wants_rows = !options.predictions.empty();
  std::map<std::string, double> out;
  for (const auto& [name, value] :
       evaluator->run(options.split, *weights, wants_rows ? &rows : nullptr))
    out[options.split + " " + name] = value;
  agree(communicator, [&] {
    if (communicator.rank() != 0 || !wants_rows) return;
    if (options.predictions != "-") {
      write_text_atomically(options.predictions, rows);
    } else if (options.predictions_sink) {
      options.predictions_sink(rows);
    }
  });
  if (communicator.rank() == 0)
    log_info(std::to_string(evaluator->samples()) + " samples of split " + options.split);
  return out;
}

}  // namespace ddl
