#include "ddl/train/run_folder.h"

#include "ddl/base/error.h"

#include <cmath>

#include "fixture.h"

namespace ddl {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using RunFolderTest = TrainFixture;

TEST_F(RunFolderTest, AFreshOneIsMadeAndLocked) {
  const fs::path path = folder_ / "a" / "run";
  RunFolder run(path, false, false, 1000);
  run.open(0);
  run.log_step(0, 0, NAN, 0.1, 32, 0.5, true);
  EXPECT_THAT(read_text(run.metrics_file()), HasSubstr("\"loss\":null"));
  EXPECT_TRUE(fs::is_directory(run.checkpoints()));
  EXPECT_THAT(error_of([&] { RunFolder second(path, true, false, 0); }),
              HasSubstr("another run is writing"));
}

TEST_F(RunFolderTest, AnOldRunIsReplacedOnlyWhenAsked) {
  const fs::path path = folder_ / "run";
  {
    RunFolder run(path, false, false, 0);
    run.open(0);
  }
  write_text_atomically(path / "notes.txt", "mine");
  EXPECT_THAT(error_of([&] { RunFolder run(path, false, false, 0); }), HasSubstr("--force"));
  write_text_atomically(path / "model.onnx", "old");
  RunFolder run(path, false, true, 0);
  EXPECT_TRUE(fs::exists(path / "model.onnx")) << "nothing goes before open()";
  run.open(0);
  EXPECT_FALSE(fs::exists(path / "model.onnx"));
  EXPECT_TRUE(fs::exists(path / "notes.txt")) << "the user's file stays";
}

TEST_F(RunFolderTest, ForeignFoldersAndFilesAreLeftAlone) {
  fs::create_directories(folder_ / "photos");
  write_text_atomically(folder_ / "photos" / "a.txt", "a");
  EXPECT_THAT(error_of([&] { RunFolder run(folder_ / "photos", false, true, 0); }),
              HasSubstr("holds no run"));
  EXPECT_THAT(error_of([&] { RunFolder run(folder_ / "photos" / "a.txt", false, true, 0); }),
              HasSubstr("is a file"));
  EXPECT_THAT(error_of([&] { RunFolder run(folder_ / "none", true, false, 0); }),
              HasSubstr("no run to resume"));
}

// K02: space is asked for before step 0.
TEST_F(RunFolderTest, TooLittleSpaceIsSeenAtOnce) {
  EXPECT_NE(error_of([&] { RunFolder run(folder_ / "run", false, false, std::uint64_t{1} << 60); }),
            "no error");
}

TEST_F(RunFolderTest, ResumingDropsLinesThatWillBeWrittenAgain) {
  const fs::path path = folder_ / "run";
  {
    RunFolder run(path, false, false, 0);
    run.open(0);
    for (std::int64_t step = 0; step < 6; ++step) {
      run.log_step(step, 0, 1, 0.1, 32, 0.5, false);
      if (step % 2 == 1) run.log_evaluation(step + 1, 0, {{"val loss", 0.5}});
    }
  }
  RunFolder run(path, true, false, 0);
  run.open(4);
  run.log_step(4, 0, 1, 0.1, 32, 0.5, false);
  const std::string text = read_text(run.metrics_file());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4 + 2 + 1);
  EXPECT_THAT(text, testing::Not(HasSubstr("\"step\":5")));
}

}  // namespace
}  // namespace ddl
