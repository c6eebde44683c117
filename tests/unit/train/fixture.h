// A small data set, a plan for it, and a training of it on ranks that are threads.
#pragma once

#include "ddl/artifact/plan.h"
#include "ddl/artifact/run.h"
#include "ddl/base/log.h"
#include "ddl/base/random.h"
#include "ddl/comm/thread_communicator.h"
#include "ddl/data/build.h"
#include "ddl/train/agreement.h"
#include "ddl/train/trainer.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace ddl {

class TrainFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    set_log_level(LogLevel::error);
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("ddl-train-" + std::to_string(::getpid()) + "-" + test->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Rows of `features` numbers drawn around a centre per class, the class name in the last column.
  void make_data(int samples, int features, int classes, Shape shape = {}, double val = 0.15,
                 double test = 0.15) {
    std::ofstream csv(folder_ / "data.csv");
    Random random(7, "test data");
    for (int i = 0; i < samples; ++i) {
      const int label = i % classes;
      for (int f = 0; f < features; ++f)
        csv << random.normal() + 1.5 * ((f + label) % classes == 0 ? 1 : 0) << ",";
      csv << "class" << label << "\n";
    }
    csv.close();
    BuildOptions build;
    build.sources = {folder_ / "data.csv"};
    build.output = folder_ / "data";
    build.header = false;
    build.label = "last";
    build.shape = std::move(shape);
    build.val_fraction = val;
    build.test_fraction = test;
    build.threads = 1;
    build.force = true;
    build_dataset(build);
  }

  // A plan with the given numbers of tasks per worker.
  std::filesystem::path make_plan(const std::string& model, const std::vector<int>& shares,
                                  std::int64_t task_samples, int lanes = 1,
                                  std::map<std::string, std::string> options = {},
                                  std::int64_t batch = 0) {
    Plan plan;
    std::int64_t tasks = 0;
    for (std::size_t rank = 0; rank < shares.size(); ++rank) {
      PlannedWorker worker;
      worker.rank = static_cast<int>(rank);
      worker.host = "here";
      worker.lanes = lanes;
      worker.samples_per_second = std::max(1, shares[rank]);
      worker.tasks = {tasks, shares[rank]};
      tasks += shares[rank];
      plan.workers.push_back(worker);
    }
    plan.numerics.task_samples = task_samples;
    plan.numerics.global_batch = batch > 0 ? batch : tasks * task_samples;
    plan.dataset = "data";
    plan.model = model;
    plan.model_options = std::move(options);
    plan.train_samples = 1;
    std::string name = "plan";
    for (const int share : shares) name += "-" + std::to_string(share);
    const std::filesystem::path file = folder_ / (name + ".json");
    write_plan(plan, file);
    return file;
  }

  TrainOptions options(const std::filesystem::path& plan, const std::string& run) {
    TrainOptions out;
    out.plan = plan;
    out.output = folder_ / run;
    out.force = true;
    out.recipe.learning_rate = 0.05;
    out.recipe.length = "2ep";
    return out;
  }

  // Trains on as many threads as `ranks`; rank 0's record. Of an agreed error, the one that is told
  // comes out.
  static RunRecord train_on(int ranks, const TrainOptions& train_options) {
    RunRecord out;
    std::mutex mutex;
    run_ranks(ranks, [&](Communicator& communicator) {
      RunRecord record;
      try {
        record = train(communicator, train_options);
      } catch (const ToldElsewhere&) {
        return;
      }
      const std::lock_guard lock(mutex);
      if (communicator.rank() == 0) out = std::move(record);
    });
    return out;
  }

  std::filesystem::path folder_;
};

// Runs the statement, which must throw an Error; returns its text.
template <class Statement>
std::string error_of(Statement&& statement) {
  try {
    statement();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace ddl
