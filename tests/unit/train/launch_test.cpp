#include "ddl/train/launch.h"

#include "ddl/base/error.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

HostFacts user_with_four_cores() {
  HostFacts facts;
  facts.mpirun = "/usr/bin/mpirun";
  facts.processors = 4;
  return facts;
}

LaunchRequest two_workers() {
  LaunchRequest request;
  request.workers = 2;
  request.command = {"/opt/ddl-train", "--plan", "a b'c.json"};
  return request;
}

std::string after(const LaunchCommand& command, const std::string& option) {
  const auto found = std::find(command.arguments.begin(), command.arguments.end(), option);
  return found == command.arguments.end() ? "" : *(found + 1);
}

TEST(Launch, PlainCommand) {
  const LaunchCommand command = launch_command(two_workers(), user_with_four_cores());
  EXPECT_EQ(command.arguments.front(), "/usr/bin/mpirun");
  EXPECT_EQ(after(command, "-np"), "2");
  EXPECT_EQ(after(command, "--bind-to"), "none");
  EXPECT_EQ(after(command, "mpi_yield_when_idle"), "1");
  EXPECT_THAT(command.arguments, Not(Contains("--oversubscribe")));
  EXPECT_THAT(command.arguments, Not(Contains("--allow-run-as-root")));
  EXPECT_EQ(command.arguments.back(), "a b'c.json") << "no shell, no quoting";
  EXPECT_TRUE(command.remarks.empty());
}

// L01
TEST(Launch, RootIsLetInInContainersAndRefusedElsewhere) {
  HostFacts facts = user_with_four_cores();
  facts.root = true;
  try {
    launch_command(two_workers(), facts);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_THAT(error.what(), HasSubstr("--allow-run-as-root"));
  }
  LaunchRequest asked = two_workers();
  asked.allow_root = true;
  EXPECT_THAT(launch_command(asked, facts).arguments, Contains("--allow-run-as-root"));
  facts.container_or_ci = true;
  facts.container_hint = "/.dockerenv exists";
  const LaunchCommand command = launch_command(two_workers(), facts);
  EXPECT_THAT(command.arguments, Contains("--allow-run-as-root"));
  EXPECT_THAT(command.remarks, Contains(HasSubstr("/.dockerenv")));
  facts.root_allowed = true;
  EXPECT_TRUE(launch_command(two_workers(), facts).remarks.empty());
}

TEST(Launch, MoreWorkersThanCoresYield) {
  LaunchRequest request = two_workers();
  request.workers = 5;
  request.explicit_np = true;
  const LaunchCommand command = launch_command(request, user_with_four_cores());
  EXPECT_THAT(command.arguments, Contains("--oversubscribe"));
  EXPECT_EQ(after(command, "mpi_yield_when_idle"), "1");
  EXPECT_THAT(command.remarks, Contains(HasSubstr("5 on 4")));
}

TEST(Launch, HostsGetThePlansWorkers) {
  LaunchRequest request = two_workers();
  request.workers = 4;
  request.hosts = {"fast", "slow"};
  request.planned_hosts = {"fast", "fast", "fast", "slow"};
  request.forwarded = {"DDL_X"};
  LaunchCommand command = launch_command(request, user_with_four_cores());
  EXPECT_EQ(after(command, "--host"), "fast:3,slow:1");
  EXPECT_EQ(after(command, "-x"), "DDL_X");
  request.planned_hosts = {"a", "b", "c", "d"};
  request.workers = 5;
  command = launch_command(request, user_with_four_cores());
  EXPECT_EQ(after(command, "--host"), "fast:3,slow:2");
  request.hosts = {"fast:1", "slow:4"};
  command = launch_command(request, user_with_four_cores());
  EXPECT_EQ(after(command, "--host"), "fast:1,slow:4");
}

TEST(Launch, MissingLauncherIsNamed) {
  try {
    launch_command(two_workers(), {});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 2);
    EXPECT_THAT(error.what(), HasSubstr("mpirun"));
    EXPECT_THAT(error.what(), HasSubstr("--np 1"));
  }
}

TEST(Launch, ExitCodesComeBack) {
  EXPECT_EQ(launch({{"/bin/sh", "-c", "exit 75"}, {}}), 75);
  EXPECT_EQ(launch({{"/bin/sh", "-c", "kill -9 $$"}, {}}), 128 + 9);
  EXPECT_EQ(launch({{"/nonexistent/mpirun"}, {}}), 127);
}

}  // namespace
}  // namespace ddl
