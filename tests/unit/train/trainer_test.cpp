// Whole runs on ranks that are threads: what they write, and what they refuse.
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/model/onnx.h"
#include "ddl/train/checkpoint.h"
#include "ddl/train/report.h"

#include <algorithm>

#include "fixture.h"

namespace ddl {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Trainer : public TrainFixture {
 protected:
  std::string refused(const TrainOptions& train_options, int ranks = 1) {
    return error_of([&] { train_on(ranks, train_options); });
  }
};

TEST_F(Trainer, LearnsAndWritesItsRun) {
  make_data(300, 10, 3);
  TrainOptions train_options = options(make_plan("mlp", {3, 1}, 8), "run");
  train_options.recipe.length = "8ep";
  train_options.command = {"ddl-train", "--plan", "plan.json"};
  const RunRecord record = train_on(2, train_options);
  EXPECT_GT(record.metrics.at("test accuracy"), 0.6);
  EXPECT_EQ(record.status, "done");
  const RunRecord written = read_run(folder_ / "run" / "run.json");
  EXPECT_EQ(written.parameters_hash, record.parameters_hash);
  EXPECT_EQ(written.command, train_options.command);
  EXPECT_EQ(written.recipe, train_options.recipe);
  EXPECT_EQ(written.workers.size(), 2U);
  EXPECT_FALSE(written.numerics.libraries.empty());
  EXPECT_EQ(written.epochs, 8);
  const std::string result = result_text(record);
  EXPECT_THAT(result, HasSubstr("test accuracy: 0."));
  EXPECT_TRUE(result.ends_with("parameters_hash " + record.parameters_hash + "\n"));
  EXPECT_THAT(report_text(record), HasSubstr("predicted"));
  // Evaluating the written model gives the printed figures.
  EvaluateOptions evaluation;
  evaluation.model = folder_ / "run" / "model.onnx";
  evaluation.dataset = folder_ / "data";
  evaluation.predictions = folder_ / "predictions.csv";
  run_ranks(3, [&](Communicator& communicator) {
    const auto metrics = evaluate(communicator, evaluation);
    EXPECT_EQ(metrics.at("test accuracy"), record.metrics.at("test accuracy"));
    EXPECT_NEAR(metrics.at("test loss"), record.metrics.at("test loss"), 1e-6);
  });
  const std::string csv = read_text(folder_ / "predictions.csv");
  EXPECT_TRUE(csv.starts_with("sample,label,predicted,probability\n0,class"));
  const auto samples = read_dataset_manifest(folder_ / "data" / "dataset.json").samples("test");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), samples + 1);
}

TEST_F(Trainer, PreviewWritesNothing) {
  make_data(100, 4, 2);
  const TrainOptions train_options = options(make_plan("mlp", {2, 2}, 4), "run");
  run_ranks(2, [&](Communicator& communicator) {
    const std::string text = preview(communicator, train_options);
    EXPECT_THAT(text, HasSubstr("16 samples in 4 tasks of 4"));
    EXPECT_THAT(text, HasSubstr("memory"));
  });
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

// N03: a step that is not finite is skipped by all; after some in a row the run stops, naming it.
TEST_F(Trainer, PoisonedStepsAreSkippedThenStopTheRun) {
  make_data(100, 4, 2);
  TrainOptions train_options = options(make_plan("mlp", {1, 3}, 4), "run");
  train_options.faults.poison_step = 2;
  train_options.faults.poison_count = 2;
  train_options.maximum_skipped_steps = 3;
  const RunRecord record = train_on(2, train_options);
  EXPECT_EQ(record.skipped_steps, 2);
  EXPECT_EQ(record.status, "done");
  const std::string metrics = read_text(folder_ / "run" / "metrics.jsonl");
  EXPECT_THAT(metrics, HasSubstr("\"skipped\":true"));
  train_options.faults.poison_count = 100;
  const std::string message = refused(train_options, 2);
  EXPECT_THAT(message, HasSubstr("3 steps in a row"));
  EXPECT_THAT(message, HasSubstr("the gradient of '"));
  EXPECT_EQ(read_run(folder_ / "run" / "run.json").status, "failed");
}

TEST_F(Trainer, ExplodingTrainingNamesSamples) {
  make_data(100, 4, 2);
  TrainOptions train_options = options(make_plan("mlp", {4}, 4), "run");
  train_options.recipe.learning_rate = 1e30;
  train_options.maximum_skipped_steps = 2;
  const std::string message = refused(train_options);
  EXPECT_THAT(message, HasSubstr("sample"));
  EXPECT_THAT(message, HasSubstr("--learning-rate"));
}

TEST_F(Trainer, StopsEarlyWithTheBestModel) {
  make_data(200, 6, 3);
  TrainOptions train_options = options(make_plan("mlp", {2, 2}, 8), "run");
  train_options.recipe.length = "60ep";
  train_options.recipe.learning_rate = 0.3;
  train_options.patience = 2;
  train_options.keep_checkpoints = 1;
  const RunRecord record = train_on(2, train_options);
  EXPECT_LT(record.epochs, 60);
  // The figures are those of the best epoch, and no later one beat it.
  std::istringstream lines(read_text(folder_ / "run" / "metrics.jsonl"));
  double best = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("\"val accuracy\":");
    if (at != std::string::npos) best = std::max(best, std::stod(line.substr(at + 15)));
  }
  EXPECT_DOUBLE_EQ(record.metrics.at("val accuracy"), best);
}

TEST_F(Trainer, FineTuningBeginsWithTheGivenWeights) {
  make_data(120, 6, 3);
  const auto plan = make_plan("mlp", {4}, 4);
  train_on(1, options(plan, "first"));
  TrainOptions second = options(plan, "second");
  second.recipe.init = folder_ / "first" / "model.onnx";
  second.recipe.learning_rate = 0;
  const RunRecord first = read_run(folder_ / "first" / "run.json");
  EXPECT_EQ(train_on(1, second).parameters_hash, first.parameters_hash);
}

TEST_F(Trainer, BalancedClassWeightsMatter) {
  make_data(120, 6, 3);
  const auto plan = make_plan("mlp", {4}, 4);
  TrainOptions train_options = options(plan, "run");
  const std::string plain = train_on(1, train_options).parameters_hash;
  train_options.balanced_class_weights = true;
  const RunRecord balanced = train_on(1, train_options);
  ASSERT_EQ(balanced.recipe.class_weights.size(), 3U);
  train_options.balanced_class_weights = false;
  train_options.recipe.class_weights = {1, 5, 1};
  EXPECT_NE(train_on(1, train_options).parameters_hash, plain);
  train_options.recipe.class_weights = {1, 5};
  EXPECT_THAT(refused(train_options), HasSubstr("2 class weights"));
}

TEST_F(Trainer, BadInputIsRefusedBeforeAnythingIsWritten) {
  make_data(60, 4, 2);
  const auto plan_file = make_plan("mlp", {2, 2}, 4);
  const auto changed = [&](auto&& change) {
    Plan plan = read_plan(plan_file);
    change(plan);
    write_plan(plan, folder_ / "changed.json");
    return options(folder_ / "changed.json", "run");
  };
  EXPECT_THAT(refused(options(plan_file, "run"), 3), HasSubstr("--np 3"));
  EXPECT_THAT(refused(options(folder_ / "none.json", "run"), 2), HasSubstr("none.json"));
  EXPECT_THAT(refused(changed([](Plan& p) { p.dataset_hash = std::string(32, '0'); }), 2),
              HasSubstr("not the one that was planned for"));
  EXPECT_THAT(refused(changed([](Plan& p) { p.model = "none.onnx"; }), 2), HasSubstr("none.onnx"));
  EXPECT_THAT(refused(changed([](Plan& p) { p.model_hash = std::string(32, '0'); }), 2),
              HasSubstr("model"));
  EXPECT_THAT(refused(changed([](Plan& p) {
                        p.numerics.global_batch = 4000;
                        p.numerics.task_samples = 1000;
                      }),
                      2),
              HasSubstr("fewer than one global batch of 4000"));
  TrainOptions seeded = options(plan_file, "run");
  seeded.seed = 5;
  EXPECT_THAT(refused(seeded, 2), HasSubstr("--change-numerics"));
  TrainOptions wrong_metric = options(plan_file, "run");
  wrong_metric.best_metric = "val perplexity";
  EXPECT_THAT(refused(wrong_metric, 2), HasSubstr("val accuracy"));
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(Trainer, AnotherNumberOfWorkersWhenAsked) {
  make_data(80, 4, 2);
  const auto plan = make_plan("mlp", {3, 1}, 4);
  const std::string planned = train_on(2, options(plan, "run")).parameters_hash;
  TrainOptions train_options = options(plan, "run");
  train_options.explicit_np = true;
  for (const int ranks : {1, 3})
    EXPECT_EQ(train_on(ranks, train_options).parameters_hash, planned) << ranks;
}

// D12: a model whose width is not the number of classes.
TEST_F(Trainer, AModelOfAnotherWidthIsRefused) {
  make_data(60, 4, 2);
  train_on(1, options(make_plan("mlp", {4}, 4), "first"));
  fs::rename(folder_ / "data", folder_ / "two-classes");
  make_data(60, 4, 3);
  Plan plan = read_plan(make_plan("mlp", {4}, 4));
  plan.model = "first/model.onnx";
  write_plan(plan, folder_ / "other.json");
  const std::string message = refused(options(folder_ / "other.json", "run"));
  EXPECT_THAT(message, HasSubstr("2 outputs"));
  EXPECT_THAT(message, HasSubstr("3 classes"));
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

// M01
TEST_F(Trainer, OneFailingWorkerEndsAll) {
  make_data(100, 4, 2);
  TrainOptions train_options = options(make_plan("mlp", {2, 1, 1}, 4), "run");
  train_options.faults.fail_rank = 1;
  train_options.faults.fail_step = 3;
  EXPECT_NE(refused(train_options, 3), "no error");
}

TEST_F(Trainer, TimeIsUp) {
  make_data(100, 4, 2);
  TrainOptions train_options = options(make_plan("mlp", {4}, 4), "run");
  train_options.recipe.length = "100000ep";
  train_options.maximum_seconds = 0.2;
  EXPECT_THAT(refused(train_options), HasSubstr("--resume"));
  EXPECT_EQ(read_run(folder_ / "run" / "run.json").status, "stopped");
  EXPECT_FALSE(checkpoint_steps(folder_ / "run" / "checkpoints").empty());
}

}  // namespace
}  // namespace ddl
