// The promise: the parameters after a run are the same bits on any number of workers, with any
// shares and any lanes.
#include "fixture.h"

namespace ddl {
namespace {

class Exactness : public TrainFixture {
 protected:
  // Hash of a run with these shares.
  std::string hash(const std::string& model, const std::vector<int>& shares, int lanes,
                   const std::map<std::string, std::string>& model_options = {},
                   std::int64_t batch = 36) {
    TrainOptions train_options =
        options(make_plan(model, shares, 5, lanes, model_options, batch), "run");
    return train_on(static_cast<int>(shares.size()), train_options).parameters_hash;
  }
};

// 36 samples a step in 8 tasks of 5 and 4; the last step of an epoch has 1 to 35 samples.
TEST_F(Exactness, PerceptronOnAnyWorkers) {
  make_data(211, 12, 3);
  const std::string one = hash("mlp", {8}, 1, {{"hidden", "17"}});
  EXPECT_EQ(one.size(), 32U);
  EXPECT_EQ(hash("mlp", {8}, 3, {{"hidden", "17"}}), one) << "three lanes";
  EXPECT_EQ(hash("mlp", {4, 4}, 1, {{"hidden", "17"}}), one) << "two workers";
  EXPECT_EQ(hash("mlp", {7, 1}, 2, {{"hidden", "17"}}), one) << "unequal shares";
  EXPECT_EQ(hash("mlp", {3, 3, 2}, 1, {{"hidden", "17"}}), one) << "three workers";
  EXPECT_EQ(hash("mlp", {8, 0, 0}, 1, {{"hidden", "17"}}), one) << "two workers without a task";
  EXPECT_EQ(hash("mlp", {1, 2, 0, 4, 1}, 2, {{"hidden", "17"}}), one) << "five workers";
}

TEST_F(Exactness, BatchNormOnAnyWorkers) {
  make_data(90, 3 * 8 * 8, 3, {3, 8, 8});
  const std::string one = hash("resnet18", {8}, 1, {{"width", "4"}});
  EXPECT_EQ(hash("resnet18", {5, 3}, 2, {{"width", "4"}}), one);
  EXPECT_EQ(hash("resnet18", {0, 6, 2}, 1, {{"width", "4"}}), one);
}

TEST_F(Exactness, OtherRunsHaveOtherHashes) {
  make_data(120, 6, 3);
  const auto plan = make_plan("mlp", {4, 3}, 5, 1);
  const auto run = [&](auto&& change) {
    TrainOptions train_options = options(plan, "run");
    change(train_options);
    return train_on(2, train_options).parameters_hash;
  };
  const std::string usual = run([](TrainOptions&) {});
  EXPECT_EQ(run([](TrainOptions&) {}), usual) << "the same again";
  EXPECT_NE(run([](TrainOptions& o) {
              o.seed = 2;
              o.change_numerics = true;
            }),
            usual);
  EXPECT_NE(run([](TrainOptions& o) { o.faults.skip_task_of_step = 3; }), usual);
  EXPECT_NE(run([](TrainOptions& o) { o.faults.flip_bit_at_step = 3; }), usual);
}

TEST_F(Exactness, EachWorkerComputesItsShareAndNoMore) {
  make_data(200, 4, 2, {}, 0, 0.3);  // 140 train samples: four full steps, and 12 samples of 32
  TrainOptions train_options = options(make_plan("mlp", {5, 2, 0, 1}, 4), "run");
  train_options.recipe.length = "3ep";
  const RunRecord record = train_on(4, train_options);
  ASSERT_EQ(record.workers.size(), 4U);
  // The last step has 3 tasks of 4: borders 0, 5*3/8, 7*3/8, 7*3/8, 3.
  EXPECT_EQ(record.workers[0].tasks, 3 * (4 * 5 + 1));
  EXPECT_EQ(record.workers[1].tasks, 3 * (4 * 2 + 1));
  EXPECT_EQ(record.workers[2].tasks, 0);
  EXPECT_EQ(record.workers[3].tasks, 3 * (4 * 1 + 1));
  std::int64_t samples = 0;
  for (const WorkerReport& worker : record.workers) {
    EXPECT_EQ(worker.samples, 4 * worker.tasks);
    samples += worker.samples;
  }
  EXPECT_EQ(samples, 3 * 140);
}

// S04: 10 evaluation samples count once, on any number of workers, to the last digit.
TEST_F(Exactness, MetricsDoNotDependOnWorkers) {
  make_data(100, 4, 2, {}, 0.1, 0.1);
  const auto metrics = [&](const std::vector<int>& shares) {
    return train_on(static_cast<int>(shares.size()), options(make_plan("mlp", shares, 4), "run"))
        .metrics;
  };
  const auto one = metrics({8});
  EXPECT_TRUE(one.contains("test accuracy"));
  EXPECT_TRUE(one.contains("val AUC"));
  EXPECT_EQ(metrics({3, 3, 2}), one);
  EXPECT_EQ(metrics({1, 5, 0, 2}), one);
}

}  // namespace
}  // namespace ddl
