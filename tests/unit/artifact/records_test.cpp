// Each artifact: written and read again, and the rules between its fields.
#include "ddl/artifact/document.h"
#include "ddl/artifact/json.h"
#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/log.h"

#include <cmath>
#include <limits>

#include "unit/artifact/examples.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ddl {
namespace {

using artifact::Json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class Records : public ::testing::Test {
 protected:
  Records() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ddl-artifact-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    set_log_level(LogLevel::off);
  }
  ~Records() override {
    set_log_level(LogLevel::info);
    std::filesystem::remove_all(folder_);
  }

  // The error of reading the example with one value changed.
  std::string read_with(const std::string& format, const std::string& pointer, Json value) {
    Json document = Json::parse(examples::text(format, folder_));
    document[Json::json_pointer(pointer)] = std::move(value);
    if (format == "ddl-checkpoint") {
      document["checksum"] = "";
      document["checksum"] = xxh3_128_hex(document.dump(2));
    }
    const std::filesystem::path file = folder_ / "changed.json";
    write_text_atomically(file, document.dump(2));
    try {
      examples::read_and_write(format, file);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_EQ(error.file(), file.string());
      return error.pointer() + ": " + error.reason();
    }
    return "read";
  }

  std::filesystem::path folder_;
};

TEST_F(Records, ComeBackAsTheyWent) {
  for (const std::string_view format : artifact_formats()) {
    const std::string text = examples::text(format, folder_);
    EXPECT_EQ(examples::read_and_write(format, folder_ / (std::string(format) + ".json")), text);
    EXPECT_THAT(
        text, StartsWith("{\n  \"format\": \"" + std::string(format) + "\",\n  \"version\": 1,\n"));
    EXPECT_TRUE(validate_artifact(format, text, "example").empty()) << format;
  }
  EXPECT_EQ(read_dataset_manifest(folder_ / "ddl-dataset.json"), examples::dataset());
  EXPECT_EQ(read_checkpoint_record(folder_ / "ddl-checkpoint.json"), examples::checkpoint());
  EXPECT_EQ(read_plan(folder_ / "ddl-plan.json").numerics, examples::plan().numerics);
  EXPECT_EQ(manifest_hash(examples::dataset()),
            xxh3_128_hex(read_text(folder_ / "ddl-dataset.json")));
}

TEST_F(Records, SmallestByHand) {
  write_text_atomically(folder_ / "p.json", R"({"format": "ddl-plan", "version": 1, "dataset": "d",
    "dataset_hash": "", "model": "mlp", "numerics": {"global_batch": 8, "task_samples": 4},
    "workers": [{"rank": 0, "tasks": {"first": 0, "count": 2}}]})");
  const Plan plan = read_plan(folder_ / "p.json");
  EXPECT_EQ(plan.workers.at(0).tasks, (TaskRange{0, 2}));
  EXPECT_EQ(plan.numerics.reduction, "exact");
  write_text_atomically(folder_ / "c.json", R"({"format": "ddl-cluster", "version": 1,
    "nodes": [{"host": "a"}], "workers": [{"rank": 0, "node": 0,
    "fp32_flops_per_second": {"median": 5}}]})");
  const Cluster cluster = read_cluster(folder_ / "c.json");
  EXPECT_EQ(cluster.workers.at(0).fp32_flops_per_second.high, 5);
  EXPECT_EQ(cluster.allreduce_bytes_per_second.samples, 0);
}

TEST_F(Records, DatasetRules) {
  const auto said = [&](const char* pointer, Json value) {
    return read_with("ddl-dataset", pointer, std::move(value));
  };
  EXPECT_EQ(said("/name", "other"), "read");
  EXPECT_THAT(said("/splits/0/samples", 6), StartsWith("/splits/0/class_counts: "));
  EXPECT_THAT(said("/shards/0/samples", 4), StartsWith("/splits/0: found 5 samples"));
  EXPECT_THAT(said("/shards/0/split", "tset"), StartsWith("/shards/0/split: "));
  EXPECT_THAT(said("/splits/0/class_counts", {3, 1, 1}), StartsWith("/splits/0/class_counts: "));
  EXPECT_THAT(said("/splits/1/name", "train"), StartsWith("/splits/1/name: "));
  EXPECT_THAT(said("/shards/1/file", "train-00000.h5"), StartsWith("/shards/1/file: "));
  for (const char* name : {"../train.h5", "/etc/passwd", "a/../../b", "."})
    EXPECT_THAT(said("/shards/0/file", name), StartsWith("/shards/0/file: ")) << name;
  EXPECT_THAT(said("/fields/1/name", "x"), StartsWith("/fields/1/name: "));
  EXPECT_THAT(said("/fields/0/dtype", "int64"), StartsWith("/fields/0/dtype: "));
  EXPECT_THAT(said("/fields/0/shape", {3, 4}), StartsWith("/fields/0/shape: "));
  EXPECT_THAT(said("/fields/1/columns", {"one"}), StartsWith("/fields/1/columns: "));
  EXPECT_THAT(said("/fields/2/categories", Json::array({Json::array({"a"})})),
              StartsWith("/fields/2/categories: "));
  EXPECT_THAT(said("/fields/2/categories/0", Json::array()),
              StartsWith("/fields/2/categories/0: "));
  EXPECT_THAT(said("/fields/0/normalisation/mean", {1, 2}),
              StartsWith("/fields/0/normalisation: "));
  EXPECT_THAT(said("/fields/1/normalisation/scale/0", 0),
              StartsWith("/fields/1/normalisation/scale/0: "));
  EXPECT_THAT(said("/classes", {"cat", "cat"}), StartsWith("/classes/1: "));
  EXPECT_THAT(said("/task", "regression"), StartsWith("/fields: no target field"));
  EXPECT_THAT(said("/tokenizer/vocabulary", Json::array()), StartsWith("/tokenizer/vocabulary: "));
  DatasetManifest manifest = examples::dataset();
  manifest.splits[0].samples = 1;
  EXPECT_THROW(write_dataset_manifest(manifest, folder_ / "new.json"), Error);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "new.json"));
}

TEST_F(Records, ClusterRules) {
  const auto said = [&](const char* pointer, Json value) {
    return read_with("ddl-cluster", pointer, std::move(value));
  };
  EXPECT_THAT(said("/workers/1/rank", 2), StartsWith("/workers/1/rank: found 2, expected 1"));
  EXPECT_THAT(said("/workers/1/node", 2), StartsWith("/workers/1/node: "));
  EXPECT_THAT(said("/link_exceptions/0/to", 2), StartsWith("/link_exceptions/0/to: "));
  EXPECT_THAT(said("/link_exceptions/0/to", 0), StartsWith("/link_exceptions/0: "));
  EXPECT_THAT(said("/workers/0/fp32_flops_per_second/low", 2e11),
              StartsWith("/workers/0/fp32_flops_per_second: "));
  EXPECT_THAT(said("/workers/0/models/0/tasks/1/lanes", 1),
              StartsWith("/workers/0/models/0/tasks/1: "));
  EXPECT_THAT(said("/workers/0/models/0/tasks/0/seconds", {{"median", 0}}),
              StartsWith("/workers/0/models/0/tasks/0/seconds/median: "));
  EXPECT_THAT(said("/link_classes/0/bandwidth_bytes_per_second", {{"median", 0}}),
              StartsWith("/link_classes/0/bandwidth_bytes_per_second/median: "));
}

TEST_F(Records, PlanRules) {
  const auto said = [&](const char* pointer, Json value) {
    return read_with("ddl-plan", pointer, std::move(value));
  };
  EXPECT_THAT(said("/workers/0/tasks/count", 3), StartsWith("/workers: nobody has task 6"));
  EXPECT_THAT(said("/workers/0/tasks/first", 4),
              StartsWith("/workers/0/tasks: found tasks 4 to 7"));
  EXPECT_THAT(said("/workers/0/tasks/first", 2),
              StartsWith("/workers/0/tasks: task 2 is given to two workers"));
  EXPECT_THAT(said("/workers/1/tasks/first", 1), StartsWith("/workers/1/tasks: nobody has task 0"));
  EXPECT_THAT(said("/workers/2/tasks", {{"first", 0}, {"count", 1}}),
              StartsWith("/workers/2/tasks: task 0 is given to rank 1 too"));
  EXPECT_THAT(said("/workers/1/tasks/count", 9007199254740991),
              StartsWith("/workers/1/tasks: found tasks"));
  EXPECT_THAT(said("/workers/1/rank", 0), StartsWith("/workers/1/rank: "));
  EXPECT_THAT(said("/numerics/task_samples", 51), StartsWith("/numerics/task_samples: "));
  EXPECT_THAT(said("/numerics/dtype", "flaot32"), StartsWith("/numerics/dtype: found \"flaot32\""));
}

TEST_F(Records, RunRules) {
  const auto said = [&](const char* pointer, Json value) {
    return read_with("ddl-run", pointer, std::move(value));
  };
  EXPECT_THAT(said("/recipe/length", "10 apples"), StartsWith("/recipe/length: "));
  EXPECT_THAT(said("/skipped_steps", 101), StartsWith("/skipped_steps: "));
  EXPECT_THAT(said("/workers/1/rank", 0), StartsWith("/workers/1/rank: "));
  EXPECT_THAT(said("/plan/workers/1/rank", 0), StartsWith("/plan/workers/1/rank: "));
  RunRecord run = examples::run();
  run.metrics["val loss"] = std::numeric_limits<double>::quiet_NaN();
  write_run(run, folder_ / "r.json");
  EXPECT_TRUE(std::isnan(read_run(folder_ / "r.json").metrics.at("val loss")));
}

TEST_F(Records, CheckpointRules) {
  const auto said = [&](const char* pointer, Json value) {
    return read_with("ddl-checkpoint", pointer, std::move(value));
  };
  EXPECT_EQ(said("/epoch", 5), "read");
  EXPECT_THAT(said("/state/file", "../x"), StartsWith("/state/file: "));
  EXPECT_THAT(said("/step_in_epoch", 124), StartsWith("/step_in_epoch: "));
  std::string text = checkpoint_record_text(examples::checkpoint());
  text.replace(text.find("\"epoch\": 4"), 10, "\"epoch\": 5");
  EXPECT_THROW(parse_checkpoint_record(text, "c.json"), Error);
}

TEST_F(Records, WhatCannotBeReadIsNotWritten) {
  Plan plan = examples::plan();
  plan.predicted.step_seconds = std::numeric_limits<double>::infinity();
  EXPECT_THROW(write_plan(plan, folder_ / "p.json"), Error);
  plan = examples::plan();
  plan.model = "\xff";
  EXPECT_THROW(write_plan(plan, folder_ / "p.json"), Error);
  plan = examples::plan();
  plan.workers.clear();
  EXPECT_THROW(write_plan(plan, folder_ / "p.json"), Error);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "p.json"));
}

TEST_F(Records, MissingFilesAreNamed) {
  try {
    read_plan(folder_ / "none.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("none.json"));
    EXPECT_EQ(error.exit_code(), 2);
  }
}

}  // namespace
}  // namespace ddl
