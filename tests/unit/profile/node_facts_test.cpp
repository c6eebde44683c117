#include "ddl/profile/node_facts.h"

#include "unit/profile/support.h"
#include <gtest/gtest.h>

namespace ddl::profile {
namespace {

namespace fs = std::filesystem;

class NodeFacts : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const fs::path path = root_.path() / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  test::TemporaryFolder root_;
};

TEST_F(NodeFacts, ComeFromTheSystemsFiles) {
  write("proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Wonder CPU @ 3:1 GHz\n\nprocessor\t: 1\nmodel name\t: "
        "other\n");
  write("proc/meminfo", "MemTotal:       16384 kB\nMemAvailable:    8192 kB\n");
  const NodeProfile node = node_facts("alpha", root_.path());
  EXPECT_EQ(node.host, "alpha");
  EXPECT_EQ(node.processor, "Wonder CPU @ 3:1 GHz");
  EXPECT_EQ(node.memory_bytes, 16384U * 1024);
  EXPECT_EQ(node.cpu_quota, 0);
  EXPECT_EQ(available_memory_bytes(root_.path()), 8192U * 1024);
}

TEST_F(NodeFacts, TakeTheLimitOfTheControlGroup) {
  write("proc/meminfo", "MemTotal:       16384 kB\nMemAvailable:    8192 kB\n");
  write("sys/fs/cgroup/memory.max", "4194304\n");
  write("sys/fs/cgroup/memory.current", "1048576\n");
  EXPECT_EQ(node_facts("a", root_.path()).memory_bytes, 4194304U);
  EXPECT_EQ(available_memory_bytes(root_.path()), 3145728U);
  write("sys/fs/cgroup/memory.current", "9999999\n");  // more in use than allowed
  EXPECT_EQ(available_memory_bytes(root_.path()), 0U);
  write("sys/fs/cgroup/memory.max", "max\n");
  EXPECT_EQ(node_facts("a", root_.path()).memory_bytes, 16384U * 1024);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "2097152\n");  // version 1
  EXPECT_EQ(node_facts("a", root_.path()).memory_bytes, 2097152U);
}

TEST_F(NodeFacts, DoWithoutFilesTheyCannotRead) {
  const NodeProfile node = node_facts("", root_.path());
  EXPECT_FALSE(node.host.empty());
  EXPECT_EQ(node.processor, "unknown");
  EXPECT_EQ(node.memory_bytes, 0U);
  EXPECT_EQ(available_memory_bytes(root_.path()), 0U);
}

TEST_F(NodeFacts, OfThisMachineArePlausible) {
  const NodeProfile node = node_facts("here");
  EXPECT_GE(node.logical_processors, 1);
  EXPECT_GT(node.memory_bytes, std::uint64_t{1} << 26);
  EXPECT_LE(available_memory_bytes(), node.memory_bytes);
  EXPECT_EQ(boot_id(), boot_id());
}

}  // namespace
}  // namespace ddl::profile
