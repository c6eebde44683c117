#include "ddl/train/setup.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/threads.h"
#include "ddl/base/units.h"
#include "ddl/data/order.h"
#include "ddl/model/builtin.h"
#include "ddl/plan/planner.h"
#include "ddl/train/evaluation.h"
#include "ddl/train/task_ranges.h"

#include <algorithm>
#include <sstream>

namespace ddl {
namespace {

namespace fs = std::filesystem;

// Paths in a plan are relative to the plan.
fs::path resolved(const fs::path& plan_file, const std::string& path) {
  const fs::path given(path);
  return given.is_absolute() ? given : plan_file.parent_path() / given;
}

Plan plan_for_world(const TrainOptions& options, int world_size,
                    std::vector<std::string>& remarks) {
  Plan plan = read_plan(options.plan);
  try {
    require_whole_ranges(plan);
    const auto planned = static_cast<int>(plan.workers.size());
    if (planned != world_size) {
      if (!options.explicit_np)
        throw bad_input("the plan is for " + std::to_string(planned) + " workers, but " +
                            std::to_string(world_size) + (world_size == 1 ? " runs" : " run"),
                        "start " + std::to_string(planned) + " workers, or say --np " +
                            std::to_string(world_size) + " to deal the tasks again");
      plan = deal_again(plan, world_size);
      require_whole_ranges(plan);
      std::string shares;
      for (const PlannedWorker& worker : plan.workers)
        shares += (shares.empty() ? "" : ", ") + std::to_string(worker.tasks.count);
      remarks.push_back("--np " + std::to_string(world_size) + " instead of the plan's " +
                        std::to_string(planned) + " workers: a step's tasks are dealt again as " +
                        shares + "; the result is the same");
    }
  } catch (Error& error) {
    throw error.with_file(options.plan.string());
  }
  return plan;
}

void apply_seed(const TrainOptions& options, TrainingSetup& setup) {
  Numerics& numerics = setup.plan.numerics;
  if (!options.seed || *options.seed == numerics.seed) return;
  if (!options.change_numerics)
    throw bad_input("--seed " + std::to_string(*options.seed) + " differs from the plan's seed " +
                        std::to_string(numerics.seed),
                    "add --change-numerics to train another model than the plan's")
        .with_file(options.plan.string());
  setup.deviations.push_back("seed " + std::to_string(*options.seed) + " instead of the plan's " +
                             std::to_string(numerics.seed) + " (--change-numerics)");
  numerics.seed = *options.seed;
}

void load_data(const TrainOptions& options, TrainingSetup& setup) {
  const fs::path path = resolved(options.plan, setup.plan.dataset);
  setup.dataset = std::make_unique<Dataset>(path);
  if (!setup.plan.dataset_hash.empty() && setup.plan.dataset_hash != setup.dataset->hash())
    throw bad_input("the data set is not the one that was planned for: its manifest hash is " +
                        setup.dataset->hash() + ", the plan's is " + setup.plan.dataset_hash,
                    "plan again with ddl-plan")
        .with_file(path.string());
  const DatasetManifest& manifest = setup.dataset->manifest();
  const std::int64_t samples = manifest.samples("train");
  const std::int64_t batch = setup.plan.numerics.global_batch;
  if (samples < batch)
    throw bad_input("split train has " + std::to_string(samples) +
                        " samples, fewer than one global batch of " + std::to_string(batch),
                    "plan again with a smaller --batch")
        .with_file(path.string());
  setup.steps_per_epoch = steps_per_epoch(samples, batch);
}

void load_model(const TrainOptions& options, TrainingSetup& setup) {
  const DatasetManifest& manifest = setup.dataset->manifest();
  if (is_builtin_model(setup.plan.model)) {
    setup.model = std::make_unique<Graph>(build_model(setup.plan.model, setup.plan.model_options,
                                                      model_interface(manifest), 1,
                                                      setup.plan.numerics.seed));
  } else {
    const fs::path path = resolved(options.plan, setup.plan.model);
    if (!fs::exists(path))
      throw bad_input("the plan's model '" + setup.plan.model +
                          "' is neither built in nor a file at " + path.string(),
                      "bring the model back or plan again; ddl-model list shows what is built in")
          .with_file(options.plan.string())
          .with_pointer("/model");
    setup.model = std::make_unique<Graph>(load_onnx(path).graph);
  }
  const std::string hash = setup.model->structure_hash();
  if (!setup.plan.model_hash.empty() && setup.plan.model_hash != hash)
    throw bad_input("the model '" + setup.plan.model +
                        "' is not the one that was planned for: its hash is " + hash +
                        ", the plan's is " + setup.plan.model_hash,
                    "plan again with ddl-plan")
        .with_file(options.plan.string())
        .with_pointer("/model_hash");
  if (!options.recipe.init.empty())
    setup.initial = std::make_unique<Graph>(load_onnx(options.recipe.init).graph);
  setup.loss = default_loss(manifest);
  try {
    require_output_width(*setup.model, manifest);
  } catch (Error& error) {
    throw error.with_file(options.plan.string()).with_pointer("/model");
  }
}

void resolve_class_weights(const TrainOptions& options, TrainingSetup& setup) {
  if (!options.balanced_class_weights) return;
  const Split* train = setup.dataset->manifest().find_split("train");
  if (train == nullptr || train->class_counts.empty())
    throw bad_input("--class-weights balanced needs a data set with classes")
        .with_file(setup.dataset->folder().string());
  setup.recipe.class_weights.clear();
  const auto classes = static_cast<double>(train->class_counts.size());
  for (const std::int64_t count : train->class_counts)
    setup.recipe.class_weights.push_back(count == 0 ? 0.0
                                                    : static_cast<double>(train->samples) /
                                                          (classes * static_cast<double>(count)));
}

void choose_metric(const TrainOptions& options, TrainingSetup& setup) {
  setup.metric = options.best_metric;
  const DatasetManifest& manifest = setup.dataset->manifest();
  if (setup.metric.empty() && options.patience > 0)
    setup.metric = "val " + usual_metric(setup.loss);
  if (setup.metric.empty()) return;
  if (!setup.metric.starts_with("val "))
    throw bad_input("the best model cannot be chosen by '" + setup.metric + "'",
                    "choose by a metric of the validation split, for example \"val " +
                        usual_metric(setup.loss) + "\"");
  if (manifest.samples("val") == 0)
    throw bad_input("choosing the best model or stopping early needs a split val",
                    "build the data set with ddl-shard --val 0.1")
        .with_file(setup.dataset->folder().string());
  const auto names = metric_names(setup.loss, output_columns(*setup.model));
  const std::string name = setup.metric.substr(4);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    std::string known;
    for (const std::string& metric : names) known += (known.empty() ? "val " : ", val ") + metric;
    throw bad_input("there is no metric '" + setup.metric + "' for this data set", "use " + known);
  }
}

}  // namespace

TrainingSetup prepare_training(const TrainOptions& options, int world_size) {
  TrainingSetup setup;
  setup.plan = plan_for_world(options, world_size, setup.remarks);
  setup.recipe = options.recipe;
  apply_seed(options, setup);
  const Numerics& numerics = setup.plan.numerics;
  if (numerics.codec != "none")
    throw bad_input("codec '" + numerics.codec + "' is not known to this version", "use none")
        .with_file(options.plan.string())
        .with_pointer("/numerics/codec");
  if (numerics.dtype != "float32" && numerics.dtype != "bfloat16")
    throw bad_input("tasks cannot be computed in '" + numerics.dtype + "'",
                    "use float32 or bfloat16")
        .with_file(options.plan.string())
        .with_pointer("/numerics/dtype");
  load_data(options, setup);
  setup.schedule = std::make_unique<Schedule>(setup.recipe, setup.steps_per_epoch);
  load_model(options, setup);
  resolve_class_weights(options, setup);
  choose_metric(options, setup);
  if (numerics.reduction == "fast")
    setup.deviations.push_back("reduction fast: the result depends on the number of workers");
  return setup;
}

std::map<std::string, std::string> shared_settings(const TrainingSetup& setup,
                                                   const TrainOptions& options) {
  const TrainingRecipe& recipe = setup.recipe;
  std::string weights;
  for (const double weight : recipe.class_weights) weights += std::to_string(weight) + " ";
  return {{"plan", xxh3_128_hex(plan_text(setup.plan))},
          {"dataset", setup.dataset->hash()},
          {"model", setup.model->structure_hash()},
          {"seed", std::to_string(setup.plan.numerics.seed)},
          {"version", ddl_version()},
          {"--optimizer", recipe.optimizer},
          {"--learning-rate", std::to_string(recipe.learning_rate)},
          {"--momentum", std::to_string(recipe.momentum)},
          {"--beta1", std::to_string(recipe.beta1)},
          {"--beta2", std::to_string(recipe.beta2)},
          {"--epsilon", std::to_string(recipe.epsilon * 1e9)},
          {"--weight-decay", std::to_string(recipe.weight_decay)},
          {"--schedule", recipe.schedule},
          {"--warmup", recipe.warmup},
          {"--length", recipe.length},
          {"--final-learning-rate", std::to_string(recipe.final_learning_rate)},
          {"--class-weights", weights},
          {"--init", recipe.init},
          {"--resume", options.resume ? "yes" : "no"},
          {"--checkpoint-every", options.checkpoint_every},
          {"--best", options.best_metric},
          {"--patience", std::to_string(options.patience)},
          {"--max-skipped", std::to_string(options.maximum_skipped_steps)}};
}

ModelMetadata model_metadata(const DatasetManifest& manifest) {
  ModelMetadata metadata;
  for (const Field& field : manifest.fields)
    if (field.kind == FieldKind::image || field.kind == FieldKind::numeric ||
        field.kind == FieldKind::category || field.kind == FieldKind::tokens)
      metadata.inputs.push_back(field);
  metadata.classes = manifest.classes;
  metadata.tokenizer = manifest.tokenizer;
  metadata.task = manifest.task;
  metadata.provenance["ddl.version"] = ddl_version();
  return metadata;
}

int choose_lanes(int planned, int local_size, std::string* how) {
  std::string source;
  const int share = threads_per_rank(local_size, &source);
  if (source == "OMP_NUM_THREADS") {
    *how = "OMP_NUM_THREADS";
    return share;
  }
  if (share < planned) {
    *how = source + ", planned " + std::to_string(planned);
    return share;
  }
  *how = "as planned";
  return std::max(1, planned);
}

std::vector<std::string> planned_hosts(const fs::path& plan) {
  std::vector<std::string> hosts;
  for (const PlannedWorker& worker : read_plan(plan).workers) hosts.push_back(worker.host);
  return hosts;
}

fs::path planned_dataset(const fs::path& plan) {
  return resolved(plan, read_plan(plan).dataset);
}

std::vector<double> parse_class_weights(const std::string& text) {
  std::vector<double> weights;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    weights.push_back(parse_double(part, "--class-weights"));
    if (!(weights.back() >= 0 && weights.back() < 1e6))
      throw bad_input("--class-weights: a weight of " + part, "give numbers of at least 0");
  }
  if (std::all_of(weights.begin(), weights.end(), [](double weight) { return weight == 0; }))
    throw bad_input("--class-weights: no class has a weight above 0",
                    "give one number per class, or balanced");
  return weights;
}

std::string ddl_version() {
  return DDL_VERSION;
}

}  // namespace ddl
