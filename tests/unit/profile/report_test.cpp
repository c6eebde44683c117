#include "ddl/profile/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using testing::HasSubstr;
using testing::Not;

Measured about(double value) {
  return {value, 0.9 * value, 1.2 * value, 10};
}

Cluster sample() {
  Cluster out;
  NodeProfile node;
  node.host = "alpha";
  node.processor = "Wonder CPU";
  node.logical_processors = 4;
  node.cpu_quota = 2.5;
  node.memory_bytes = std::uint64_t{8} << 30;
  node.memory_bandwidth_bytes_per_second = about(12e9);
  node.storage_read_bytes_per_second = about(1.5e9);
  node.storage_how = "direct, shards of 64MiB";
  out.nodes = {node};
  WorkerProfile worker;
  worker.threads = 2;
  worker.numeric_class = "cpu avx2";
  worker.fp32_flops_per_second = about(100e9);
  out.workers = {worker};
  out.profiled_seconds = 12;
  return out;
}

TEST(Report, NamesUnitsSpreadAndWhatWasNotMeasured) {
  const std::string text = cluster_report(sample());
  EXPECT_THAT(text, HasSubstr("alpha"));
  EXPECT_THAT(text, HasSubstr("Wonder CPU"));
  EXPECT_THAT(text, HasSubstr("4 (quota 2.5)"));
  EXPECT_THAT(text, HasSubstr("8GiB"));
  EXPECT_THAT(text, HasSubstr("12 GB/s (10.8 G to 14.4 G)"));
  EXPECT_THAT(text, HasSubstr("100 GFLOP/s (90 G to 120 G)"));
  EXPECT_THAT(text, HasSubstr("direct, shards of 64MiB"));
  EXPECT_THAT(text, HasSubstr("cpu avx2"));
  EXPECT_THAT(text, HasSubstr(" -  "));  // bfloat16
  EXPECT_THAT(text, HasSubstr("10th to 90th percentile"));
  EXPECT_THAT(text, HasSubstr("12 s"));
  EXPECT_THAT(text, Not(HasSubstr("latency")));
  EXPECT_THAT(text, Not(HasSubstr("model")));
}

TEST(Report, ShowsLinksAndTasks) {
  Cluster cluster = sample();
  cluster.workers.push_back(cluster.workers[0]);
  cluster.workers[1].rank = 1;
  Link link;
  link.level = "network";
  link.latency_seconds = about(50e-6);
  link.bandwidth_bytes_per_second = about(1e9);
  cluster.link_classes = {link};
  link.from = 0;
  link.to = 1;
  cluster.link_exceptions = {link};
  cluster.allreduce_bytes_per_second = about(2e9);
  ModelProfile model;
  model.model = "lenet";
  model.tasks = {{16, 2, about(4e-3)}};
  cluster.workers[1].models = {model};
  const std::string text = cluster_report(cluster);
  EXPECT_THAT(text, HasSubstr("between nodes"));
  EXPECT_THAT(text, HasSubstr("0 - 1"));
  EXPECT_THAT(text, HasSubstr("50 us (45 us to 60 us)"));
  EXPECT_THAT(text, HasSubstr("all-reduce of 4MiB, int64: 2 GB/s"));
  EXPECT_THAT(text, HasSubstr("model lenet"));
  EXPECT_THAT(text, HasSubstr("8,000"));  // 16 samples in 2 lanes every 4 ms
}

}  // namespace
}  // namespace ddl
