#include "ddl/comm/thread_communicator.h"
#include "ddl/profile/task_probe.h"

#include <map>
#include <mutex>
#include <set>

#include "unit/profile/support.h"
#include <gtest/gtest.h>

namespace ddl::profile {
namespace {

using Shapes = std::vector<std::pair<int, int>>;  // samples, lanes

class Tasks : public testing::Test {
 protected:
  static Shapes shapes(const std::vector<TaskTime>& times) {
    Shapes out;
    for (const TaskTime& time : times) out.emplace_back(time.samples, time.lanes);
    return out;
  }
  static void expect_plausible(const std::vector<TaskTime>& times) {
    for (const TaskTime& time : times) {
      EXPECT_GE(time.seconds.samples, 2);
      EXPECT_GT(time.seconds.low, 0);
      EXPECT_LE(time.seconds.low, time.seconds.median);
      EXPECT_LE(time.seconds.median, time.seconds.high);
      EXPECT_LT(time.seconds.median, 60);
    }
  }
  test::TemporaryFolder folder_;
  std::filesystem::path dataset_ = test::make_dataset(folder_.path(), 60);  // 48 train
};

TEST_F(Tasks, SubjectKnowsModelAndData) {
  const TaskSubject subject("mlp", {{"hidden", "8"}}, dataset_);
  EXPECT_EQ(subject.samples(), 48);
  const ModelProfile profile = subject.profile();
  EXPECT_EQ(profile.model, "mlp");
  EXPECT_EQ(profile.model_hash.size(), 32U);
  EXPECT_EQ(profile.dataset_hash.size(), 32U);
  const TaskSubject other("mlp", {{"hidden", "9"}}, dataset_);
  EXPECT_NE(other.profile().model_hash, profile.model_hash);
}

TEST_F(Tasks, SubjectRefusesWhatIsNotThere) {
  const Error unknown = test::error_of([&] { TaskSubject("mpl", {}, dataset_); });
  EXPECT_EQ(unknown.kind(), ErrorKind::bad_input);
  EXPECT_NE(std::string(unknown.what()).find("mlp"), std::string::npos) << unknown.what();
  const Error file = test::error_of([&] { TaskSubject("gone.onnx", {}, dataset_); });
  EXPECT_EQ(file.kind(), ErrorKind::bad_input);
  EXPECT_NE(std::string(file.what()).find("gone.onnx"), std::string::npos) << file.what();
  const Error data = test::error_of([&] { TaskSubject("mlp", {}, folder_ / "nothing"); });
  EXPECT_EQ(data.kind(), ErrorKind::bad_input);
}

TEST_F(Tasks, AreMeasuredWithOneLaneAndWithAll) {
  const TaskSubject subject("mlp", {{"hidden", "8"}}, dataset_);
  run_ranks(1, [&](Communicator& communicator) {
    ThreadPool pool(2);
    TaskProbeOptions options;
    options.sizes = {3, 8};
    options.seconds = 0.2;
    std::vector<int> started;
    options.started = [&](int size) { started.push_back(size); };
    const auto times =
        measure_tasks(communicator, subject, pool, test::stepping_clock(0.001), options);
    EXPECT_EQ(shapes(times), (Shapes{{3, 1}, {3, 2}, {8, 1}, {8, 2}}));
    EXPECT_EQ(started, (std::vector<int>{3, 8}));
    expect_plausible(times);
  });
}

TEST_F(Tasks, AreTheSameSizesOnUnequalRanks) {
  const TaskSubject subject("mlp", {{"hidden", "8"}}, dataset_);
  std::mutex mutex;
  std::map<int, std::vector<TaskTime>> results;
  run_ranks(3, [&](Communicator& communicator) {
    ThreadPool pool(communicator.rank() == 1 ? 2 : 1);
    TaskProbeOptions options;
    options.seconds = 1;
    // A clock that runs four times as fast on one rank: it runs out of time first.
    const double step = communicator.rank() == 2 ? 0.012 : 0.003;
    const auto times =
        measure_tasks(communicator, subject, pool, test::stepping_clock(step), options);
    const std::lock_guard lock(mutex);
    results[communicator.rank()] = times;
  });
  std::set<int> sizes[3];
  for (const auto& [rank, times] : results) {
    expect_plausible(times);
    for (const TaskTime& time : times) sizes[rank].insert(time.samples);
    const int lanes = rank == 1 ? 2 : 1;
    EXPECT_EQ(times.back().lanes, lanes);
  }
  EXPECT_EQ(sizes[0], sizes[1]);
  EXPECT_EQ(sizes[0], sizes[2]);
  EXPECT_TRUE(sizes[0].contains(1));
}

TEST_F(Tasks, OfDefaultSizesFitTheDataAndTheTime) {
  const TaskSubject subject("mlp", {{"hidden", "8"}}, dataset_);
  run_ranks(1, [&](Communicator& communicator) {
    ThreadPool pool(1);
    TaskProbeOptions options;
    options.seconds = 1e6;
    const auto all = measure_tasks(communicator, subject, pool, test::stepping_clock(0.5), options);
    EXPECT_EQ(shapes(all), (Shapes{{1, 1}, {2, 1}, {4, 1}, {8, 1}, {16, 1}, {32, 1}}));
    // Out of time from the start: one size all the same, so that there is a figure.
    options.seconds = 0;
    const auto one = measure_tasks(communicator, subject, pool, test::stepping_clock(0.5), options);
    EXPECT_EQ(shapes(one), (Shapes{{1, 1}}));
  });
}

TEST_F(Tasks, StopWhereTheMemoryEnds) {
  const TaskSubject subject("mlp", {{"hidden", "64"}}, dataset_);
  run_ranks(1, [&](Communicator& communicator) {
    ThreadPool pool(1);
    TaskProbeOptions options;
    options.seconds = 1e6;
    options.available_memory_bytes = 4096;
    const Clock clock = test::stepping_clock(0.5);
    EXPECT_EQ(shapes(measure_tasks(communicator, subject, pool, clock, options)), (Shapes{{1, 1}}));
    options.sizes = {1, 8};
    const Error error =
        test::error_of([&] { measure_tasks(communicator, subject, pool, clock, options); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_NE(std::string(error.what()).find("--task-sizes"), std::string::npos);
  });
}

}  // namespace
}  // namespace ddl::profile
