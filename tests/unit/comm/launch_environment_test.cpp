// What launchers put into the environment, and what is said about it.
#include "ddl/comm/mpi.h"

#include <cstdlib>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace ddl {
namespace {

using Variables = std::map<std::string, std::string>;

// Runs with exactly these of the launchers' variables, and puts the old ones back.
class LaunchEnvironmentTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : kNames) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      unsetenv(name);
    }
  }
  void TearDown() override {
    for (const char* name : kNames) {
      unsetenv(name);
      if (before_.contains(name)) setenv(name, before_[name].c_str(), 1);
    }
  }
  LaunchEnvironment with(const Variables& variables) {
    for (const char* name : kNames) unsetenv(name);
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    return launch_environment();
  }

  static constexpr const char* kNames[] = {"OMPI_COMM_WORLD_RANK",
                                           "OMPI_COMM_WORLD_SIZE",
                                           "PMIX_RANK",
                                           "PMIX_SIZE",
                                           "PMI_RANK",
                                           "PMI_SIZE",
                                           "SLURM_PROCID",
                                           "SLURM_NTASKS",
                                           "SLURM_STEP_NUM_TASKS",
                                           "SLURM_STEP_ID",
                                           "SLURM_STEPID",
                                           "SLURM_JOB_ID"};
  Variables before_;
};

void expect(const LaunchEnvironment& found, const std::string& launcher, int rank, int size) {
  EXPECT_TRUE(found.launched);
  EXPECT_EQ(found.launcher, launcher);
  EXPECT_EQ(found.rank, rank);
  EXPECT_EQ(found.size, size);
}

TEST_F(LaunchEnvironmentTest, NoLauncher) {
  const LaunchEnvironment found = with({});
  EXPECT_FALSE(found.launched);
  EXPECT_EQ(found.rank, -1);
  EXPECT_EQ(found.size, -1);
}

TEST_F(LaunchEnvironmentTest, Mpirun) {
  expect(with({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "5"}, {"PMIX_RANK", "2"}}),
         "mpirun", 2, 5);
  // Inside a job of Slurm, whose own step has one task a node.
  expect(with({{"OMPI_COMM_WORLD_RANK", "3"},
               {"OMPI_COMM_WORLD_SIZE", "4"},
               {"SLURM_STEP_ID", "1"},
               {"SLURM_PROCID", "0"},
               {"SLURM_NTASKS", "2"}}),
         "mpirun", 3, 4);
}

TEST_F(LaunchEnvironmentTest, Srun) {
  expect(with({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "3"}}), "srun", 1,
         3);
  // A step of fewer tasks than its job.
  expect(with({{"SLURM_STEP_ID", "4"},
               {"SLURM_PROCID", "1"},
               {"SLURM_STEP_NUM_TASKS", "2"},
               {"SLURM_NTASKS", "8"},
               {"PMI_RANK", "1"},
               {"PMI_SIZE", "2"}}),
         "srun", 1, 2);
}

// A batch script is no rank, though Slurm sets the variables of one: mpirun or srun comes later.
TEST_F(LaunchEnvironmentTest, SlurmsBatchScriptIsNoRank) {
  EXPECT_FALSE(
      with({{"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).launched);
  EXPECT_FALSE(with({{"SLURM_STEP_ID", "4294967291"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}})
                   .launched);
}

TEST_F(LaunchEnvironmentTest, OtherLaunchers) {
  const LaunchEnvironment pmi = with({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
  EXPECT_TRUE(pmi.launched);
  EXPECT_EQ(pmi.rank, 1);
  EXPECT_EQ(pmi.size, 2);
  const LaunchEnvironment pmix = with({{"PMIX_RANK", "0"}});
  EXPECT_TRUE(pmix.launched);
  EXPECT_EQ(pmix.rank, 0);
  EXPECT_EQ(pmix.size, -1);
}

TEST_F(LaunchEnvironmentTest, WordsThatAreNoNumbers) {
  for (const char* word : {"", "x", "-1", "3x", "99999999999999999999"}) {
    const LaunchEnvironment found =
        with({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", word}});
    EXPECT_EQ(found.size, -1) << word;
    const LaunchEnvironment rank =
        with({{"OMPI_COMM_WORLD_RANK", word}, {"OMPI_COMM_WORLD_SIZE", "2"}});
    EXPECT_LT(rank.rank, 0) << word;
  }
}

}  // namespace
}  // namespace ddl
