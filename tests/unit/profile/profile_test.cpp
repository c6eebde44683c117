#include "ddl/profile/profile.h"

#include "ddl/base/log.h"
#include "ddl/comm/thread_communicator.h"
#include "ddl/data/dataset.h"

#include <cmath>
#include <mutex>

#include "unit/profile/support.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

void expect_plausible(const Measured& value, const char* what) {
  EXPECT_GE(value.samples, 1) << what;
  EXPECT_GT(value.low, 0) << what;
  EXPECT_LE(value.low, value.median) << what;
  EXPECT_LE(value.median, value.high) << what;
}

class ProfileTest : public testing::Test {
 protected:
  ProfileTest() { set_log_level(LogLevel::warning); }
  ~ProfileTest() override { set_log_level(LogLevel::info); }
  ProfileOptions tiny() const {
    ProfileOptions options;
    options.storage = folder_.path();
    options.maximum_seconds = 0.5;
    options.clock = test::stepping_clock(0.002);
    return options;
  }
  // Of every rank.
  static std::vector<Cluster> profile(int ranks, const ProfileOptions& options,
                                      const std::vector<std::string>& hosts = {}) {
    std::mutex mutex;
    std::vector<Cluster> out;
    run_ranks(ranks, [&](Communicator& beneath) {
      std::unique_ptr<test::FakeHosts> fake;
      if (!hosts.empty()) fake = std::make_unique<test::FakeHosts>(beneath, hosts);
      ProfileOptions mine = options;
      const Cluster cluster = profile_cluster(fake ? *fake : beneath, mine);
      const std::lock_guard lock(mutex);
      out.push_back(cluster);
    });
    return out;
  }
  static void check(const Cluster& cluster, std::size_t workers) {
    ASSERT_EQ(cluster.workers.size(), workers);
    for (std::size_t i = 0; i < workers; ++i) {
      const WorkerProfile& worker = cluster.workers[i];
      EXPECT_EQ(worker.rank, static_cast<int>(i));
      EXPECT_GE(worker.threads, 1);
      EXPECT_FALSE(worker.numeric_class.empty());
      EXPECT_LT(worker.node, static_cast<int>(cluster.nodes.size()));
      expect_plausible(worker.fp32_flops_per_second, "fp32");
      if (worker.bf16_flops_per_second.samples > 0)
        expect_plausible(worker.bf16_flops_per_second, "bf16");
    }
    for (const NodeProfile& node : cluster.nodes) {
      EXPECT_FALSE(node.host.empty());
      EXPECT_FALSE(node.storage_how.empty());
      EXPECT_GE(node.logical_processors, 1);
      EXPECT_GT(node.memory_bytes, 0U);
      expect_plausible(node.memory_bandwidth_bytes_per_second, "memory");
      expect_plausible(node.storage_read_bytes_per_second, "storage");
    }
    for (const Link& link : cluster.link_classes) {
      expect_plausible(link.latency_seconds, "latency");
      expect_plausible(link.bandwidth_bytes_per_second, "bandwidth");
    }
    EXPECT_GT(cluster.profiled_seconds, 0);
    if (workers == 1) {
      EXPECT_EQ(cluster.allreduce_bytes_per_second.samples, 0);
    } else {
      expect_plausible(cluster.allreduce_bytes_per_second, "all-reduce");
    }
  }
  test::TemporaryFolder folder_;
};

TEST_F(ProfileTest, OfOneToThreeRanksIsWholeAndTheSameOnAll) {
  for (int ranks = 1; ranks <= 3; ++ranks) {
    const std::vector<Cluster> all = profile(ranks, tiny());
    for (const Cluster& cluster : all) {
      check(cluster, static_cast<std::size_t>(ranks));
      EXPECT_EQ(cluster.nodes.size(), 1U);
      ASSERT_EQ(cluster.link_classes.size(), ranks == 1 ? 0U : 1U);
      if (ranks > 1) {
        EXPECT_EQ(cluster.link_classes[0].level, "node");
      }
      EXPECT_EQ(cluster_text(cluster), cluster_text(all[0]));
      // What is written can be read.
      write_cluster(cluster, folder_ / "cluster.json");
      EXPECT_EQ(cluster_text(read_cluster(folder_ / "cluster.json")), cluster_text(cluster));
    }
  }
}

TEST_F(ProfileTest, TellsNodesApart) {
  for (const Cluster& cluster : profile(3, tiny(), {"a", "b", "a"})) {
    check(cluster, 3);
    ASSERT_EQ(cluster.nodes.size(), 2U);
    EXPECT_EQ(cluster.nodes[0].host, "a");
    EXPECT_EQ(cluster.nodes[1].host, "b");
    EXPECT_EQ(cluster.workers[0].node, 0);
    EXPECT_EQ(cluster.workers[1].node, 1);
    EXPECT_EQ(cluster.workers[2].node, 0);
    ASSERT_EQ(cluster.link_classes.size(), 2U);
    EXPECT_EQ(cluster.link_classes[0].level, "node");
    EXPECT_EQ(cluster.link_classes[1].level, "network");
    // Every pair of ranks has its class.
    for (const Link& link : cluster.link_exceptions) EXPECT_NE(link.from, link.to);
  }
}

TEST_F(ProfileTest, TimesTheTasksOfAModel) {
  ProfileOptions options = tiny();
  options.model = "mlp";
  options.model_options = {{"hidden", "8"}};
  options.dataset = test::make_dataset(folder_.path(), 40);
  options.task_sizes = {4, 2, 4};
  for (const Cluster& cluster : profile(2, options)) {
    check(cluster, 2);
    for (const WorkerProfile& worker : cluster.workers) {
      ASSERT_EQ(worker.models.size(), 1U);
      const ModelProfile& model = worker.models[0];
      EXPECT_EQ(model.model, "mlp");
      EXPECT_EQ(model.dataset_hash, Dataset(options.dataset).hash());
      std::vector<int> sizes;
      for (const TaskTime& task : model.tasks) {
        if (task.lanes == 1) sizes.push_back(task.samples);
        EXPECT_TRUE(task.lanes == 1 || task.lanes == worker.threads);
        expect_plausible(task.seconds, "task");
      }
      EXPECT_EQ(sizes, (std::vector<int>{2, 4}));
    }
  }
}

TEST_F(ProfileTest, KeepsItsTimeLimitByTheClock) {
  // Each look at the clock costs a quarter of a second: every repetition of every probe costs at
  // least one, so a probe that ignores its window would show as time beyond the limit.
  const auto dataset = test::make_dataset(folder_.path(), 40);
  for (const double limit : {60.0, 120.0}) {
    ProfileOptions options = tiny();
    options.maximum_seconds = limit;
    options.clock = test::stepping_clock(0.25);
    options.model = "mlp";
    options.model_options = {{"hidden", "4"}};
    options.dataset = dataset;
    const Cluster cluster = profile(1, options)[0];
    EXPECT_LE(cluster.profiled_seconds, limit) << limit;
    EXPECT_GE(cluster.profiled_seconds, 15) << limit;
  }
}

TEST_F(ProfileTest, RefusesOptionsThatContradict) {
  const auto refused = [&](const std::function<void(ProfileOptions&)>& change) {
    ProfileOptions options = tiny();
    change(options);
    std::string what;
    run_ranks(1, [&](Communicator& communicator) {
      const Error error = test::error_of([&] { Profiler(communicator, options); });
      EXPECT_EQ(error.kind(), ErrorKind::bad_input) << error.what();
      what = error.what();
    });
    return what;
  };
  const auto dataset = test::make_dataset(folder_.path(), 40);
  EXPECT_THAT(refused([](auto& o) { o.model = "mlp"; }), testing::HasSubstr("--dataset"));
  EXPECT_THAT(refused([](auto& o) { o.maximum_seconds = 0; }), testing::HasSubstr("--max-time"));
  EXPECT_THAT(refused([](auto& o) { o.maximum_seconds = std::nan(""); }),
              testing::HasSubstr("--max-time"));
  EXPECT_THAT(refused([](auto& o) { o.task_sizes = {4}; }), testing::HasSubstr("--model"));
  EXPECT_THAT(refused([](auto& o) {
                o.model_options = {{"a", "b"}};
              }),
              testing::HasSubstr("--model"));
  EXPECT_THAT(refused([&](auto& o) { o.storage = folder_ / "gone"; }), testing::HasSubstr("gone"));
  EXPECT_THAT(refused([&](auto& o) { o.dataset = folder_ / "gone"; }), testing::HasSubstr("gone"));
  const auto with_model = [&](auto& o) {
    o.model = "mlp";
    o.dataset = dataset;
  };
  EXPECT_THAT(refused([&](auto& o) { with_model(o), o.task_sizes = {0}; }),
              testing::HasSubstr("0 samples"));
  EXPECT_THAT(refused([&](auto& o) { with_model(o), o.task_sizes = {4000}; }),
              testing::HasSubstr("4000"));
  EXPECT_THAT(refused([&](auto& o) { with_model(o), o.model = "lenett"; }),
              testing::HasSubstr("lenet"));
}

}  // namespace
}  // namespace ddl
