// K04, K05: a run that was broken off and resumed ends with the bits of the unbroken one.
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/train/checkpoint.h"

#include <atomic>

#include "fixture.h"

namespace ddl {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class Resume : public TrainFixture {
 protected:
  TrainOptions adamw(const fs::path& plan, const std::string& run) {
    TrainOptions out = options(plan, run);
    out.recipe.optimizer = "adamw";
    out.recipe.learning_rate = 0.01;
    out.recipe.weight_decay = 0.05;
    out.recipe.schedule = "cosine";
    out.recipe.warmup = "3st";
    out.recipe.length = "3ep";
    out.checkpoint_every = "4st";
    return out;
  }

  // Trains until `steps` steps are begun, then asks to stop.
  void train_until(int ranks, TrainOptions train_options, std::int64_t steps) {
    std::atomic<std::int64_t> polls{0};
    train_options.stop_requested = [&] { return ++polls > steps * ranks; };
    std::atomic<int> stopped{0};
    run_ranks(ranks, [&](Communicator& communicator) {
      try {
        train(communicator, train_options);
      } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 75) << error.what();
        ++stopped;
      }
    });
    EXPECT_EQ(stopped, ranks);
  }
};

TEST_F(Resume, InMidEpochOnAnotherNumberOfWorkers) {
  make_data(101, 6, 3);
  const auto plan = make_plan("mlp", {6}, 3);
  const std::string unbroken = train_on(1, adamw(plan, "unbroken")).parameters_hash;

  const auto two = make_plan("mlp", {5, 1}, 3);
  const auto three = make_plan("mlp", {1, 0, 5}, 3);
  train_until(2, adamw(two, "broken"), 6);
  std::vector<std::string> skipped;
  const auto checkpoint = newest_checkpoint(folder_ / "broken" / "checkpoints", skipped);
  ASSERT_TRUE(checkpoint);
  EXPECT_GT(checkpoint->record.step_in_epoch, 0) << "in mid-epoch";

  TrainOptions again = adamw(three, "broken");
  again.resume = true;
  again.force = false;
  const RunRecord record = train_on(3, again);
  EXPECT_EQ(record.parameters_hash, unbroken);
  EXPECT_THAT(record.resumed_at, ElementsAre(checkpoint->record.step));
  // Each step is told once.
  std::istringstream lines(read_text(folder_ / "broken" / "metrics.jsonl"));
  std::int64_t steps = 0;
  for (std::string line; std::getline(lines, line);)
    steps += line.find("\"kind\":\"step\"") != std::string::npos ? 1 : 0;
  EXPECT_EQ(steps, record.steps);
}

TEST_F(Resume, BatchNormAndMomentum) {
  make_data(60, 3 * 8 * 8, 3, {3, 8, 8});
  const auto plan = make_plan("resnet18", {4}, 4, 1, {{"width", "4"}});
  const std::string unbroken = train_on(1, options(plan, "unbroken")).parameters_hash;
  TrainOptions broken = options(plan, "broken");
  train_until(1, broken, 2);
  broken.resume = true;
  broken.force = false;
  EXPECT_EQ(train_on(1, broken).parameters_hash, unbroken);
  // A finished run that is resumed has nothing to do, and says the same.
  EXPECT_EQ(train_on(1, broken).parameters_hash, unbroken);
}

TEST_F(Resume, ADamagedCheckpointIsPassedOver) {
  make_data(101, 6, 3);
  const auto plan = make_plan("mlp", {6}, 3);
  const std::string unbroken = train_on(1, adamw(plan, "unbroken")).parameters_hash;
  train_until(1, adamw(plan, "broken"), 6);
  const fs::path checkpoints = folder_ / "broken" / "checkpoints";
  const std::int64_t newest = checkpoint_steps(checkpoints).back();
  fs::resize_file(checkpoints / checkpoint_name(newest) / "state.safetensors", 700);
  TrainOptions again = adamw(plan, "broken");
  again.resume = true;
  again.force = false;
  const RunRecord record = train_on(1, again);
  EXPECT_EQ(record.parameters_hash, unbroken);
  EXPECT_LT(record.resumed_at.front(), newest);
}

TEST_F(Resume, AnotherRecipeIsRefusedByName) {
  make_data(101, 6, 3);
  const auto plan = make_plan("mlp", {6}, 3);
  train_until(1, adamw(plan, "broken"), 6);
  TrainOptions again = adamw(plan, "broken");
  again.resume = true;
  again.force = false;
  again.recipe.learning_rate = 0.02;
  EXPECT_THAT(error_of([&] { train_on(1, again); }), HasSubstr("--learning-rate"));
  again.change_numerics = true;
  const RunRecord record = train_on(1, again);
  EXPECT_THAT(record.deviations, ElementsAre(HasSubstr("--learning-rate")));
}

TEST_F(Resume, WithoutACheckpointItBeginsAtTheStart) {
  make_data(101, 6, 3);
  const auto plan = make_plan("mlp", {6}, 3);
  TrainOptions fresh = options(plan, "run");
  fs::create_directories(folder_ / "run");
  fresh.resume = true;
  fresh.force = false;
  const RunRecord record = train_on(1, fresh);
  EXPECT_TRUE(record.resumed_at.empty());
  EXPECT_EQ(record.status, "done");
}

}  // namespace
}  // namespace ddl
