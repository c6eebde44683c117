#include "ddl/plan/planner.h"

#include "ddl/base/error.h"
#include "ddl/plan/cost_model.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kModelHash = "00112233445566778899aabbccddeeff";

DatasetManifest dataset(std::int64_t samples = 1000) {
  DatasetManifest d;
  d.name = "d";
  d.fields = {{"x", FieldKind::numeric, DType::f32, {10}, {}, {}, {}},
              {"y", FieldKind::label, DType::i64, {}, {}, {}, {}}};
  d.classes = {"a", "b"};
  d.splits = {{"train", samples, {}, ""}};
  d.shards = {{"train-00000.h5", "train", samples, 1, kModelHash}};
  return d;
}

// Two nodes of a worker each; the second is half as fast. Tasks of b samples take
// (1 + b) ms and (2 + 2 b) ms.
PlanRequest request() {
  PlanRequest r;
  r.dataset = dataset();
  r.dataset_path = "data";
  r.model = "mlp";
  r.model_hash = kModelHash;
  r.cost.parameters = 1000;
  r.cost.training_flops_per_sample = 6000;
  r.cost.training_bytes_per_sample = 100;
  r.cost.activation_bytes_per_sample = 50;
  r.cost.layers = {{"one", "Gemm", "10", 1000, 2000, 50}};
  for (int i = 0; i < 2; ++i) {
    NodeProfile node;
    node.host = i == 0 ? "fast" : "slow";
    node.memory_bandwidth_bytes_per_second = {1e9, 1e9, 1e9, 1};
    node.storage_read_bytes_per_second = {1e8, 1e8, 1e8, 1};
    r.cluster.nodes.push_back(node);
    WorkerProfile worker;
    worker.rank = worker.node = i;
    worker.fp32_flops_per_second = {1e9 / (i + 1), 1e9 / (i + 1), 1e9 / (i + 1), 1};
    ModelProfile model{"mlp", kModelHash, "", {}};
    for (const int b : {4, 16}) {
      const double seconds = (i + 1) * (1 + b) * 1e-3;
      model.tasks.push_back({b, 1, {seconds, seconds, seconds, 5}});
    }
    worker.models = {model};
    r.cluster.workers.push_back(worker);
  }
  r.cluster.link_classes = {{-1, -1, "network", {1e-4, 1e-4, 1e-4, 1}, {1e8, 1e8, 1e8, 1}}};
  r.cluster.allreduce_bytes_per_second = {5e7, 5e7, 5e7, 1};
  r.numerics.global_batch = 48;
  r.numerics.task_samples = 8;
  r.task_samples_given = true;
  return r;
}

std::string refusal(const PlanRequest& r) {
  try {
    make_plan(r);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    return error.what();
  }
  return "planned";
}

TEST(Planner, SharesFollowMeasuredTimes) {
  const Plan plan = make_plan(request());
  ASSERT_EQ(plan.workers.size(), 2U);
  EXPECT_EQ(plan.workers[0].tasks, (TaskRange{0, 4}));
  EXPECT_EQ(plan.workers[1].tasks, (TaskRange{4, 2}));
  EXPECT_NEAR(plan.workers[0].task_seconds, 9e-3, 1e-12);  // between the measured sizes
  EXPECT_NEAR(plan.workers[1].task_seconds, 18e-3, 1e-12);
  EXPECT_NEAR(plan.workers[0].samples_per_second, 8 / 9e-3, 1e-6);
  EXPECT_EQ(plan.workers[1].host, "slow");
  const Prediction& p = plan.predicted;
  EXPECT_NEAR(p.compute_seconds, 36e-3, 1e-12);
  EXPECT_NEAR(p.rounding_loss, 0, 1e-9);
  // 8 bytes a parameter over 5e7 B/s, and two latencies.
  EXPECT_NEAR(p.communication_seconds, 8000 / 5e7 + 2e-4, 1e-12);
  EXPECT_NEAR(p.update_seconds, 32e3 / 1e9, 1e-12);
  EXPECT_NEAR(p.input_seconds, 32 * 48 / 1e8, 1e-12);  // 32 samples of 48 bytes on the fast node
  EXPECT_NEAR(p.step_seconds, p.compute_seconds + p.communication_seconds + p.update_seconds,
              1e-12);
  EXPECT_NEAR(p.epoch_seconds, std::ceil(1000.0 / 48) * p.step_seconds, 1e-9);
  EXPECT_NEAR(p.samples_per_second, 48 / p.step_seconds, 1e-6);
  EXPECT_NEAR(p.utilisation, 36e-3 / p.step_seconds, 1e-9);
  EXPECT_EQ(plan.dataset_hash, manifest_hash(request().dataset));
  EXPECT_EQ(plan.numerics, request().numerics);
}

TEST(Planner, EveryPlanCanBeWrittenAndCoversAllTasks) {
  for (const std::int64_t batch : {1, 7, 48, 500})
    for (const std::int64_t task : {0, 1, 3, 48}) {
      PlanRequest r = request();
      r.numerics.global_batch = batch;
      r.task_samples_given = task > 0;
      if (task > 0) r.numerics.task_samples = std::min(task, batch);
      const Plan plan = make_plan(r);
      std::int64_t next = 0;
      for (const PlannedWorker& worker : plan.workers) {
        EXPECT_EQ(worker.tasks.first, next);
        next += worker.tasks.count;
      }
      EXPECT_EQ(next, plan.numerics.tasks_per_step());
      EXPECT_THAT(plan_text(plan), HasSubstr("ddl-plan"));
    }
}

TEST(Planner, TimesBeyondMeasuredSizes) {
  const PlanRequest r = request();
  const WorkerModel worker(r, r.cluster.workers[0], "");
  EXPECT_NEAR(worker.task_seconds(4), 5e-3, 1e-12);
  EXPECT_NEAR(worker.task_seconds(1), 2e-3, 1e-12);
  EXPECT_NEAR(worker.task_seconds(64), 65e-3, 1e-12);
  // A line that would give less than nothing: in proportion instead.
  PlanRequest steep = request();
  steep.cluster.workers[0].models[0].tasks = {{8, 1, {1e-3}}, {16, 1, {8e-3}}};
  EXPECT_NEAR(WorkerModel(steep, steep.cluster.workers[0], "").task_seconds(4), 0.5e-3, 1e-12);
}

TEST(Planner, LanesUseTheTimesMeasuredWithThem) {
  PlanRequest r = request();
  r.cluster.workers[0].threads = 3;
  r.cluster.workers[0].models[0].tasks = {{8, 1, {1e-3}}, {8, 3, {2e-3}}};
  const Plan plan = make_plan(r);
  EXPECT_EQ(plan.workers[0].lanes, 3);
  EXPECT_NEAR(plan.workers[0].task_seconds, 2e-3, 1e-12);
  EXPECT_EQ(plan.workers[0].tasks.count, 6);
  r.cluster.workers[0].threads = 2;
  EXPECT_THAT(make_plan(r).notes,
              Contains(HasSubstr("with 2 tasks side by side were not measured")));
}

TEST(Planner, EstimatesWhenTheProfileIsForAnotherModel) {
  PlanRequest r = request();
  r.model_hash = "ff112233445566778899aabbccddeeff";
  const Plan plan = make_plan(r);
  EXPECT_NEAR(plan.workers[0].task_seconds, 8 * 6000 / 1e9 + (8 * 100 + 20 * 1000) / 1e9, 1e-12);
  EXPECT_THAT(plan.notes, AllOf(Contains(HasSubstr("estimates from the model's FLOPs")),
                                Contains(HasSubstr("another form of it or other data"))));
  r.cluster.workers[1].fp32_flops_per_second = {};
  EXPECT_THAT(refusal(r), HasSubstr("worker 1 has neither times for this model nor a matrix rate"));
  r.rates = {3, 1};
  EXPECT_EQ(refusal(r), "planned");
}

TEST(Planner, RatesByHand) {
  PlanRequest r = request();
  r.rates = {1, 5};
  const Plan plan = make_plan(r);
  EXPECT_EQ(plan.workers[0].tasks.count, 1);
  EXPECT_EQ(plan.workers[1].tasks.count, 5);
  // What both do together stays as measured.
  EXPECT_NEAR(plan.workers[0].samples_per_second + plan.workers[1].samples_per_second,
              8 / 9e-3 + 8 / 18e-3, 1e-6);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("--rates")));
  r.rates = {1};
  EXPECT_THAT(refusal(r), HasSubstr("1 rates for 2 workers"));
  r.rates = {1, 0};
  EXPECT_THAT(refusal(r), HasSubstr("expected more than 0"));
}

TEST(Planner, WithoutAProfile) {
  PlanRequest r = request();
  r.cluster = equal_workers(3);
  const Plan plan = make_plan(r);
  EXPECT_EQ(plan.workers[2].tasks, (TaskRange{4, 2}));
  EXPECT_EQ(plan.predicted.step_seconds, 0);
  EXPECT_GT(plan.predicted.memory_bytes, 0U);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("no times are predicted")));
  EXPECT_THROW(equal_workers(0), Error);
}

TEST(Planner, ChoosesTheTaskSize) {
  PlanRequest r = request();
  r.task_samples_given = false;
  // Measured: a task costs 1 ms more than its samples, so large tasks are cheaper; at least 2 for
  // each of the 2 lanes leave 8.
  EXPECT_EQ(make_plan(r).numerics.task_samples, 8);
  // Without a fixed cost the smallest measured size is as good as any.
  for (WorkerProfile& worker : r.cluster.workers)
    for (TaskTime& task : worker.models[0].tasks)
      task.seconds.median = task.samples * 1e-3 * (worker.rank + 1);
  EXPECT_EQ(make_plan(r).numerics.task_samples, 4);
  // One size says nothing of others, however cheap it makes them look: 4 tasks for each lane.
  for (WorkerProfile& worker : r.cluster.workers) worker.models[0].tasks = {{1, 1, {1e-6}}};
  EXPECT_EQ(make_plan(r).numerics.task_samples, 4);
  // No measured size leaves 2 tasks for each lane, none at all 4: one for each.
  r.numerics.global_batch = 6;
  for (WorkerProfile& worker : r.cluster.workers)
    worker.models[0].tasks = {{4, 1, {1e-3}}, {8, 1, {2e-3}}};
  EXPECT_EQ(make_plan(r).numerics.task_samples, 4);
  r.numerics.global_batch = 48;
  // Not measured: the largest that leaves 4 for each lane.
  r.model_hash = "";
  r.model = "other";
  EXPECT_EQ(make_plan(r).numerics.task_samples, 4);
  r.numerics.global_batch = 1;
  EXPECT_EQ(make_plan(r).numerics.task_samples, 1);
}

TEST(Planner, WarnsOfRoundingLossAndIdleWorkers) {
  PlanRequest r = request();
  EXPECT_THAT(make_plan(r).notes, Not(Contains(HasSubstr("warning"))));
  r.numerics.task_samples = 16;  // 3 tasks on 2 : 1 are even too
  EXPECT_THAT(make_plan(r).notes, Not(Contains(HasSubstr("warning"))));
  r.numerics.task_samples = 24;
  EXPECT_THAT(make_plan(r).notes, Contains(HasSubstr("warning: tasks cannot be divided evenly")));
  r.numerics.task_samples = 48;
  EXPECT_THAT(make_plan(r).notes, Contains(HasSubstr("1 of 2 workers have no task")));
}

TEST(Planner, NamesAlternativesAndWhyNot) {
  const Plan plan = make_plan(request());
  std::vector<std::string> what;
  for (const Alternative& one : plan.alternatives) {
    what.push_back(one.what);
    EXPECT_GT(one.step_seconds, 0);
    EXPECT_FALSE(one.why.empty());
  }
  EXPECT_THAT(what, ::testing::ElementsAre("task size 4", "task size 16", "reduction fast",
                                           "without rank 1 (slow)"));
}

TEST(Planner, ReducesLanesToFitMemory) {
  PlanRequest r = request();
  r.cluster.workers[0].threads = 4;
  const std::uint64_t two = worker_memory_bytes(r.cost, 2, 8);
  r.cluster.nodes[0].memory_bytes = two;
  const Plan plan = make_plan(r);
  EXPECT_EQ(plan.workers[0].lanes, 2);
  EXPECT_LE(plan.predicted.memory_bytes, two);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("fast runs 2 fewer tasks")));
  r.cluster.nodes[0].memory_bytes = worker_memory_bytes(r.cost, 1, 8) - 1;
  EXPECT_THAT(refusal(r), HasSubstr("the workers of fast need"));
}

TEST(Planner, RefusesWhatCannotBePlanned) {
  PlanRequest r = request();
  r.dataset = dataset(47);
  EXPECT_THAT(refusal(r), AllOf(HasSubstr("47 samples, fewer than one global batch of 48"),
                                HasSubstr("--batch 47 or less")));
  r = request();
  r.dataset.splits[0].name = "test";
  EXPECT_THAT(refusal(r), HasSubstr("no train split"));
  r = request();
  r.numerics.task_samples = 49;
  EXPECT_THAT(refusal(r), HasSubstr("--task 49"));
  r = request();
  r.numerics.global_batch = 0;
  EXPECT_THAT(refusal(r), HasSubstr("--batch 0"));
  r = request();
  r.cluster.workers.clear();
  EXPECT_THAT(refusal(r), HasSubstr("no workers"));
}

TEST(Planner, FirstWorkers) {
  const Cluster one = first_workers(request().cluster, 1);
  EXPECT_EQ(one.workers.size(), 1U);
  EXPECT_EQ(one.allreduce_bytes_per_second.samples, 0);
  EXPECT_THROW(first_workers(one, 2), Error);
}

TEST(DealAgain, KeepsNumericsAndFollowsRates) {
  const Plan plan = make_plan(request());
  const Plan same = deal_again(plan, 2);
  EXPECT_EQ(same.workers[0].tasks, plan.workers[0].tasks);
  EXPECT_EQ(same.workers[1].tasks, plan.workers[1].tasks);
  EXPECT_NEAR(same.predicted.step_seconds, plan.predicted.step_seconds, 1e-12);
  for (const int n : {1, 3, 5, 20}) {
    const Plan dealt = deal_again(plan, n);
    ASSERT_EQ(dealt.workers.size(), static_cast<std::size_t>(n));
    EXPECT_EQ(dealt.numerics, plan.numerics);
    std::int64_t next = 0;
    for (const PlannedWorker& worker : dealt.workers) {
      EXPECT_EQ(worker.tasks.first, next);
      next += worker.tasks.count;
    }
    EXPECT_EQ(next, 6);
    EXPECT_NO_THROW(plan_text(dealt));
  }
  const Plan one = deal_again(plan, 1);
  EXPECT_EQ(one.predicted.communication_seconds, 0);
  EXPECT_NEAR(one.predicted.compute_seconds, 54e-3, 1e-12);
  EXPECT_NEAR(one.predicted.epoch_seconds, std::ceil(1000.0 / 48) * one.predicted.step_seconds,
              1e-9);
  const double mean = (plan.workers[0].samples_per_second + plan.workers[1].samples_per_second) / 2;
  EXPECT_NEAR(deal_again(plan, 3).workers[2].samples_per_second, mean, 1e-9);
  EXPECT_THROW(deal_again(plan, 0), Error);
}

TEST(Explain, SaysWhoDoesWhat) {
  const std::string text = explain_plan(make_plan(request()));
  for (const char* part : {"48 samples in 6 tasks of 8", "fast", "slow", "0-3", "4-5", "█",
                           "reduction", "lost to rounding to whole tasks: 0.0 %", "task size 16"})
    EXPECT_THAT(text, HasSubstr(part));
  PlanRequest r = request();
  r.cluster = equal_workers(2);
  EXPECT_THAT(explain_plan(make_plan(r)), AllOf(HasSubstr("share"), Not(HasSubstr("an epoch"))));
}

}  // namespace
}  // namespace ddl
