#include "ddl/train/checkpoint.h"

#include "ddl/artifact/document.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/random.h"

#include <csignal>
#include <cstring>
#include <thread>

#include "fixture.h"
#include <sys/resource.h>
#include <sys/wait.h>

namespace ddl {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class CheckpointTest : public TrainFixture {
 protected:
  void SetUp() override {
    TrainFixture::SetUp();
    checkpoints_ = folder_ / "checkpoints";
  }

  static CheckpointRecord record(std::int64_t step) {
    CheckpointRecord out;
    out.step = step;
    out.epoch = step / 20;
    out.step_in_epoch = step % 20;
    out.optimizer_updates = step - 1;
    out.skipped_steps = 1;
    out.numerics.seed = UINT64_MAX;
    out.numerics.libraries = {{"oneDNN", "2.6.3"}};
    out.recipe.class_weights = {0.1, 1.0 / 3};
    out.recipe.learning_rate = 0.1 + 0.2;
    out.exponents = {-7, INT32_MIN, 12};
    out.best = {"val accuracy", 2.0 / 3, step, 4};
    out.dataset_hash = out.model_hash = out.parameters_hash = std::string(32, 'a');
    out.resumed_at = {3, 9};
    out.epoch_loss = 1.0 / 7;
    out.epoch_weight = 5;
    return out;
  }

  void save(std::int64_t step, std::size_t elements = 1000) {
    const std::vector<float> values(elements, static_cast<float>(step));
    save_checkpoint(checkpoints_, record(step),
                    {{"model/w",
                      DType::f32,
                      {static_cast<std::int64_t>(elements)},
                      std::as_bytes(std::span(values))}});
  }

  fs::path checkpoints_;
};

TEST_F(CheckpointTest, RoundTrip) {
  save(47);
  std::vector<std::string> skipped;
  const auto loaded = newest_checkpoint(checkpoints_, skipped);
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(skipped.empty());
  CheckpointRecord wanted = record(47);
  wanted.state_file = loaded->record.state_file;
  wanted.state_bytes = loaded->state.size();
  wanted.state_xxh3_128 = loaded->record.state_xxh3_128;
  EXPECT_EQ(loaded->record, wanted);
  const auto arrays = parse_safetensors(loaded->state, "");
  EXPECT_EQ(arrays.at("model/w").shape, Shape{1000});
  const std::string text = read_text(checkpoints_ / checkpoint_name(47) / "checkpoint.json");
  EXPECT_TRUE(validate_artifact("ddl-checkpoint", text, "checkpoint.json").empty())
      << "no unknown key";
}

// K01: a damaged newest one is named and skipped.
TEST_F(CheckpointTest, DamagedOnesAreSkippedByName) {
  save(8);
  save(9);
  save(10);
  const auto damage = [&](std::int64_t step, const char* file, std::size_t at) {
    const fs::path path = checkpoints_ / checkpoint_name(step) / file;
    std::vector<std::byte> bytes = read_bytes(path);
    bytes[at] ^= std::byte{4};
    write_bytes_atomically(path, bytes);
  };
  damage(10, "state.safetensors", 900);
  damage(9, "checkpoint.json", 60);
  std::vector<std::string> skipped;
  const auto loaded = newest_checkpoint(checkpoints_, skipped);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->record.step, 8);
  EXPECT_THAT(skipped, ElementsAre(HasSubstr("step-00000010"), HasSubstr("step-00000009")));
  fs::resize_file(checkpoints_ / checkpoint_name(8) / "state.safetensors", 100);
  skipped.clear();
  EXPECT_FALSE(newest_checkpoint(checkpoints_, skipped));
  EXPECT_EQ(skipped.size(), 3U);
}

// K01: killed at any moment of a save, what is found is whole.
TEST_F(CheckpointTest, KilledSavesLeaveTheLastWholeOne) {
  save(1);
  Random random(9, "kill");
  std::int64_t newest = 1;
  for (int round = 0; round < 12; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (std::int64_t step = newest + 1;; ++step) save(step, 200'000);
    }
    ASSERT_GT(child, 0);
    std::this_thread::sleep_for(std::chrono::microseconds(2000 + random.below(30000)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    std::vector<std::string> skipped;
    const auto loaded = newest_checkpoint(checkpoints_, skipped);
    ASSERT_TRUE(loaded);
    EXPECT_TRUE(skipped.empty()) << skipped.front();
    EXPECT_GE(loaded->record.step, newest);
    newest = loaded->record.step;
    prune_checkpoints(checkpoints_, 2, {});
    for (const auto& entry : fs::directory_iterator(checkpoints_))
      EXPECT_THAT(entry.path().filename().string(), testing::Not(HasSubstr("tmp")));
  }
  EXPECT_GT(newest, 1) << "the child never finished a save";
}

// K02: out of space: the part is removed, the old one stays, the message has both figures.
TEST_F(CheckpointTest, AFailedSaveKeepsTheOldOne) {
  save(5);
  struct rlimit old = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit small = {100'000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  int code = 0;
  try {
    save(6, 1'000'000);
  } catch (const Error& error) {
    message = error.what();
    code = error.exit_code();
  }
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(code, 1);
  EXPECT_THAT(message, HasSubstr("needs 3.8MiB"));
  EXPECT_THAT(message, HasSubstr("free are"));
  EXPECT_THAT(checkpoint_steps(checkpoints_), ElementsAre(5));
  for (const auto& entry : fs::directory_iterator(checkpoints_))
    EXPECT_EQ(entry.path().filename(), checkpoint_name(5));
}

// K06: order is that of numbers, and the last whole one is never removed.
TEST_F(CheckpointTest, PruningIsNumeric) {
  for (const std::int64_t step : {8, 9, 10, 11, 123456789, 1000000000}) save(step, 3);
  EXPECT_EQ(checkpoint_name(8), "step-00000008");
  prune_checkpoints(checkpoints_, 3, {9});
  EXPECT_THAT(checkpoint_steps(checkpoints_), ElementsAre(9, 11, 123456789, 1000000000));
  prune_checkpoints(checkpoints_, 0, {});
  EXPECT_THAT(checkpoint_steps(checkpoints_), ElementsAre(1000000000));
}

}  // namespace
}  // namespace ddl
