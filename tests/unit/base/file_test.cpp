#include "ddl/base/file.h"

#include "ddl/base/clock.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <thread>
#include <utility>

#include "support.h"
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ddl {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// Runs `body` in a child process, which ends without destructors; returns its process number.
template <typename Body>
pid_t run_in_child(Body&& body, int* exit_code = nullptr) {
  const pid_t child = fork();
  if (child == 0) {
    int code = 99;
    try {
      code = body();
    } catch (...) {
    }
    _exit(code);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (exit_code != nullptr) *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return child;
}

// Files larger than `bytes` fail with EFBIG instead of killing the process.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit = old_;
    limit.rlim_cur = bytes;
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  sighandler_t old_handler_;
};

TEST(OutputFile, NothingStandsUnderTheFinalNameBeforeCommit) {
  const TemporaryFolder folder;
  OutputFile file(folder / "a.json");
  file.write("one ");
  file.write(std::as_bytes(std::span("two", 3)));
  const std::string expected = ".a.json.ddl-tmp-" + std::to_string(getpid()) + "-0@" + host_name();
  EXPECT_EQ(file.temporary_path().filename(), expected);
  EXPECT_THAT(names_in(folder.path()), ElementsAre(expected));
  file.commit();
  EXPECT_THAT(names_in(folder.path()), ElementsAre("a.json"));
  EXPECT_EQ(read_text(folder / "a.json"), "one two");
}

TEST(OutputFile, WithoutCommitTheOldFileStays) {
  const TemporaryFolder folder;
  write_text_atomically(folder / "a", "old");
  {
    OutputFile file(folder / "a");
    file.write("new");
  }
  EXPECT_THAT(names_in(folder.path()), ElementsAre("a"));
  EXPECT_EQ(read_text(folder / "a"), "old");
}

TEST(OutputFile, LargeAndSmallWritesKeepTheirOrder) {
  const TemporaryFolder folder;
  std::string expected;
  OutputFile file(folder / "a");
  for (const std::size_t size :
       {1u, 300'000u, 5u, 262'144u, 262'143u, 1u, 0u, 100'000u, 200'000u}) {
    const std::string piece(size, static_cast<char>('a' + expected.size() % 26));
    file.write(piece);
    expected += piece;
  }
  file.commit();
  EXPECT_EQ(read_text(folder / "a"), expected);
}

TEST(OutputFile, ALibraryMayWriteTheTemporaryFile) {
  const TemporaryFolder folder;
  OutputFile file(folder / "a.h5");
  std::ofstream(file.temporary_path()) << "by a library";
  file.commit();
  EXPECT_EQ(read_text(folder / "a.h5"), "by a library");
}

TEST(OutputFile, ExistingTargetNeedsForce) {
  const TemporaryFolder folder;
  write_text_atomically(folder / "a", "old");
  const Error error = error_of([&] { OutputFile(folder / "a", false); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_EQ(std::string(error.what()), (folder / "a").string() + ": exists; --force replaces it");
  OutputFile(folder / "b", false).commit();
  EXPECT_THAT(names_in(folder.path()), ElementsAre("a", "b"));
}

TEST(OutputFile, TargetThatAppearsMeanwhileIsNotReplaced) {
  const TemporaryFolder folder;
  {
    OutputFile file(folder / "a", false);
    file.write("mine");
    write_text_atomically(folder / "a", "theirs");
    EXPECT_EQ(error_of([&] { file.commit(); }).kind(), ErrorKind::bad_input);
  }
  EXPECT_EQ(read_text(folder / "a"), "theirs");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("a"));
}

TEST(OutputFile, WritersOfOneTargetDoNotMeet) {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round) {
        write_text_atomically(folder / "a", std::string(1000, static_cast<char>('a' + i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = read_text(folder / "a");
  EXPECT_EQ(text, std::string(1000, text[0]));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("a"));
}

TEST(OutputFile, SymbolicLinkIsFollowed) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "inner");
  write_text_atomically(folder / "inner" / "real", "old");
  fs::create_symlink("inner/real", folder / "link");
  write_text_atomically(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_text(folder / "inner" / "real"), "new");
}

TEST(OutputFile, LongNamesFitTheFileSystem) {
  const TemporaryFolder folder;
  const std::string name(250, 'x');
  write_text_atomically(folder / name, "text");
  EXPECT_THAT(names_in(folder.path()), ElementsAre(name));
}

TEST(OutputFile, BadTargets) {
  const TemporaryFolder folder;
  Error error = error_of([&] { OutputFile(folder / "missing" / "a"); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_THAT(error.what(), HasSubstr("does not exist"));
  error = error_of([&] { OutputFile(folder.path()); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_THAT(error.what(), HasSubstr("is a folder"));
  write_text_atomically(folder / "file", "");
  EXPECT_EQ(error_of([&] { OutputFile(folder / "file" / "a"); }).kind(), ErrorKind::bad_input);
  EXPECT_EQ(error_of([&] { OutputFile{fs::path()}; }).kind(), ErrorKind::bad_input);
}

// On a pipe of our own: were this broken, a test on /dev/null would replace it when run as root.
TEST(OutputFile, DevicesAndPipesAreWrittenInPlace) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", folder / "link");
  for (const char* name : {"pipe", "link"}) {
    // Without O_NONBLOCK here, and with the writer never opening the pipe, the test would hang.
    const int reader = open((folder / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
    ASSERT_GE(reader, 0);
    OutputFile file(folder / name, false);
    file.write("through");
    file.commit();
    char buffer[16];
    EXPECT_EQ(read(reader, buffer, sizeof buffer), 7) << name;
    close(reader);
    EXPECT_THAT(names_in(folder.path()), ElementsAre("link", "pipe"));
    EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
  }
}

TEST(OutputFile, ShortWriteIsContinuedAndItsErrorSeen) {
  const TemporaryFolder folder;
  write_text_atomically(folder / "a", "old");
  {
    const FileSizeLimit limit(100'000);
    // The kernel takes the first 100,000 bytes and refuses the rest.
    const Error error =
        error_of([&] { write_text_atomically(folder / "a", std::string(300'000, 'x')); });
    EXPECT_EQ(error.kind(), ErrorKind::failure);
    EXPECT_THAT(error.what(), HasSubstr("File too large"));
    EXPECT_THAT(error.remedy(), HasSubstr("ulimit"));
    // The buffered bytes fail only in commit().
    OutputFile file(folder / "b");
    file.write(std::string(200'000, 'x'));
    error_of([&] { file.commit(); });
  }
  EXPECT_EQ(read_text(folder / "a"), "old");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("a"));
}

TEST(ReadWhole, BytesAndText) {
  const TemporaryFolder folder;
  const std::string text("with\0zero", 9);
  write_text_atomically(folder / "a", text);
  EXPECT_EQ(read_text(folder / "a"), text);
  const std::vector<std::byte> bytes = read_bytes(folder / "a");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), text);
  write_text_atomically(folder / "empty", "");
  EXPECT_EQ(read_text(folder / "empty"), "");
  EXPECT_THAT(read_bytes(folder / "empty"), IsEmpty());
}

TEST(ReadWhole, FilesThatDoNotKnowTheirSize) {
  EXPECT_THAT(read_text("/proc/self/status"), HasSubstr("Pid:"));
  const TemporaryFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  const std::string text(200'000, 'p');
  std::thread writer([&] { std::ofstream(folder / "pipe") << text; });
  EXPECT_EQ(read_text(folder / "pipe"), text);
  writer.join();
}

TEST(ReadWhole, WhatCannotBeReadIsNamed) {
  const TemporaryFolder folder;
  Error error = error_of([&] { read_text(folder / "missing.json"); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_EQ(error.file(), (folder / "missing.json").string());
  EXPECT_THAT(error.what(), HasSubstr("No such file"));
  error = error_of([&] { read_text(folder / "no" / "such.json"); });
  EXPECT_THAT(error.remedy(), HasSubstr((folder / "no").string() + " does not exist"));
  error = error_of([&] { read_bytes(folder.path()); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_THAT(error.what(), HasSubstr("directory"));
}

TEST(ReadWhole, LimitIsAnError) {
  const TemporaryFolder folder;
  write_text_atomically(folder / "a", "12345");
  EXPECT_EQ(read_text(folder / "a", 5), "12345");
  const Error error = error_of([&] { read_text(folder / "a", 4); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_THAT(error.what(), HasSubstr("5 bytes (5B), more than the 4 bytes (4B)"));
  EXPECT_EQ(error_of([&] { read_text("/dev/zero", 10'000); }).kind(), ErrorKind::bad_input);
}

TEST(ReadWhole, PermissionsAreNamed) {
  const TemporaryFolder folder;
  write_text_atomically(folder / "a", "secret");
  fs::permissions(folder / "a", fs::perms::none);
  int code = -1;
  run_in_child(
      [&] {
        // The superuser may read everything.
        if (geteuid() == 0 && setuid(65534) != 0) return 2;
        try {
          read_text(folder / "a");
        } catch (const Error& error) {
          const bool good =
              error.kind() == ErrorKind::bad_input && error.remedy() == "check the permissions";
          return good ? 0 : 3;
        }
        return 4;
      },
      &code);
  EXPECT_EQ(code, 0);
}

TEST(InputFile, ReadsAnyRange) {
  const TemporaryFolder folder;
  write_text_atomically(folder / "a", "0123456789");
  InputFile first(folder / "a");
  const InputFile file(std::move(first));
  EXPECT_EQ(file.size(), 10u);
  EXPECT_EQ(file.path(), folder / "a");
  std::string piece(4, '?');
  file.read_at(3, std::as_writable_bytes(std::span(piece)));
  EXPECT_EQ(piece, "3456");
  file.read_at(10, {});
}

TEST(InputFile, ShortFileNamesTheRange) {
  const TemporaryFolder folder;
  write_text_atomically(folder / "a", "0123456789");
  const InputFile file(folder / "a");
  std::string piece(4, '?');
  const Error error = error_of([&] { file.read_at(8, std::as_writable_bytes(std::span(piece))); });
  EXPECT_EQ(error.kind(), ErrorKind::failure);
  EXPECT_EQ(error.file(), (folder / "a").string());
  EXPECT_THAT(error.what(), HasSubstr("bytes 8 to 12: the file ends at byte 10"));
  // Cut while it is open.
  fs::resize_file(folder / "a", 5);
  EXPECT_THAT(error_of([&] { file.read_at(4, std::as_writable_bytes(std::span(piece))); }).what(),
              HasSubstr("bytes 4 to 8: the file ends at byte 5"));
}

TEST(InputFile, MoveAssignmentClosesTheOldOne) {
  const TemporaryFolder folder;
  write_text_atomically(folder / "a", "aaaa");
  write_text_atomically(folder / "b", "bb");
  InputFile file(folder / "a");
  file = InputFile(folder / "b");
  std::string piece(2, '?');
  file.read_at(0, std::as_writable_bytes(std::span(piece)));
  EXPECT_EQ(piece, "bb");
  EXPECT_EQ(file.size(), 2u);
}

TEST(InputFile, WhatCannotBeOpened) {
  const TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { InputFile(folder / "missing"); }).kind(), ErrorKind::bad_input);
  EXPECT_EQ(error_of([&] { InputFile{folder.path()}; }).kind(), ErrorKind::bad_input);
  EXPECT_THAT(error_of([] { InputFile("/dev/null"); }).what(), HasSubstr("not a regular file"));
}

TEST(LineWriter, AppendsWholeLines) {
  const TemporaryFolder folder;
  const fs::path path = folder / "metrics.jsonl";
  {
    LineWriter writer(path, LineWriter::Mode::append);
    writer.write_line("one");
    EXPECT_EQ(read_text(path), "one\n") << "a line is in the kernel when write_line returns";
    writer.write_line("");
    writer.sync();
  }
  LineWriter(path, LineWriter::Mode::append).write_line("two");
  EXPECT_EQ(read_text(path), "one\n\ntwo\n");
  LineWriter writer(path, LineWriter::Mode::truncate);
  writer.write_line("three");
  writer.close();
  writer.close();
  EXPECT_EQ(read_text(path), "three\n");
}

TEST(LineWriter, TornLineIsEnded) {
  const TemporaryFolder folder;
  write_text_atomically(folder / "a", "whole\nto");
  LineWriter(folder / "a", LineWriter::Mode::append).write_line("next");
  EXPECT_EQ(read_text(folder / "a"), "whole\nto\nnext\n");
}

TEST(LineWriter, FullDiskAndBadPathsAreErrors) {
  LineWriter writer("/dev/full", LineWriter::Mode::append);
  const Error error = error_of([&] { writer.write_line("line"); });
  EXPECT_EQ(error.kind(), ErrorKind::failure);
  EXPECT_EQ(error.file(), "/dev/full");
  EXPECT_THAT(error.what(), HasSubstr("needed 5 bytes (5B), free "));
  EXPECT_THAT(error.what(), HasSubstr("No space left on device"));
  EXPECT_FALSE(error.remedy().empty());
  EXPECT_THAT(error_of([] { LineWriter("/nonexistent/a", LineWriter::Mode::append); }).what(),
              HasSubstr("/nonexistent/a"));
}

TEST(RequireWritableFolder, CreatesParentsAndLeavesNothing) {
  const TemporaryFolder folder;
  require_writable_folder(folder / "a" / "b", 1);
  EXPECT_TRUE(fs::is_directory(folder / "a" / "b"));
  EXPECT_THAT(names_in(folder / "a" / "b"), IsEmpty());
  require_writable_folder(folder / "a" / "b");
}

TEST(RequireWritableFolder, SaysWhyNot) {
  const TemporaryFolder folder;
  write_text_atomically(folder / "file", "");
  Error error = error_of([&] { require_writable_folder(folder / "file"); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_EQ(error.file(), (folder / "file").string());
  EXPECT_EQ(error_of([&] { require_writable_folder(folder / "file" / "a"); }).kind(),
            ErrorKind::bad_input);
  EXPECT_EQ(error_of([] { require_writable_folder("/proc/ddl"); }).kind(), ErrorKind::bad_input);
  EXPECT_EQ(error_of([] { require_writable_folder("/proc"); }).kind(), ErrorKind::bad_input);
  EXPECT_EQ(error_of([] { require_writable_folder(""); }).kind(), ErrorKind::bad_input);
  error = error_of([&] { require_writable_folder(folder.path(), UINT64_MAX); });
  EXPECT_EQ(error.kind(), ErrorKind::bad_input);
  EXPECT_THAT(error.what(), HasSubstr("needed 18446744073709551615 bytes (16EiB), free "));
  EXPECT_THAT(names_in(folder.path()), ElementsAre("file"));
}

TEST(RequireWritableFolder, FullDiskIsSeenByTheProbe) {
  const TemporaryFolder folder;
  const FileSizeLimit limit(0);
  EXPECT_EQ(error_of([&] { require_writable_folder(folder.path()); }).kind(), ErrorKind::bad_input);
  EXPECT_THAT(names_in(folder.path()), IsEmpty());
}

TEST(RemoveStaleTemporaries, RemovesWhatAKilledWriterLeft) {
  const TemporaryFolder folder;
  run_in_child([&] {
    OutputFile file(folder / "model.onnx");
    file.write("half");
    _exit(0);
    return 0;
  });
  ASSERT_EQ(names_in(folder.path()).size(), 1u);
  remove_stale_temporaries(folder.path());
  EXPECT_THAT(names_in(folder.path()), IsEmpty());
}

TEST(RemoveStaleTemporaries, KeepsEverythingElse) {
  const TemporaryFolder folder;
  const std::string gone = std::to_string(run_in_child([] { return 0; }));
  const std::string host = host_name();
  OutputFile living(folder / "a");
  const std::vector<std::string> kept = {
      ".a.ddl-tmp-" + gone + "-0@other-" + host,  // a process of another machine
      ".a.ddl-tmp-1-0@" + host,                   // init lives
      ".a.ddl-tmp-" + gone + "-0",
      ".a.ddl-tmp-" + gone + "@" + host,
      ".a.ddl-tmp-" + gone + "-x@" + host,
      ".a.ddl-tmp--" + gone + "-0@" + host,
      ".a.ddl-tmp-0-0@" + host,
      ".a.ddl-tmp-99999999999999999999-0@" + host,
      "a.ddl-tmp-" + gone + "-0@" + host,
      "model.onnx",
  };
  for (const std::string& name : kept) std::ofstream(folder / name) << "x";
  std::ofstream(folder / (".a.ddl-tmp-" + gone + "-12@" + host)) << "x";
  remove_stale_temporaries(folder.path());
  std::vector<std::string> expected = kept;
  expected.push_back(living.temporary_path().filename());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names_in(folder.path()), expected);
  remove_stale_temporaries(folder / "missing");
}

TEST(ConfinedPath, StaysInside) {
  EXPECT_EQ(confined_path("/data", "train.h5"), "/data/train.h5");
  EXPECT_EQ(confined_path("/data", "a/b"), "/data/a/b");
  EXPECT_EQ(confined_path("/data", "./a/../b"), "/data/b");
  EXPECT_EQ(confined_path("/data", "..a"), "/data/..a");
  EXPECT_EQ(confined_path("data", "a"), "data/a");
}

TEST(ConfinedPath, EscapesAreRefused) {
  for (const std::string_view name :
       {std::string_view(""), std::string_view("/etc/passwd"), std::string_view(".."),
        std::string_view("../x"), std::string_view("a/../../x"), std::string_view("./../x"),
        std::string_view("."), std::string_view("a/.."), std::string_view("//x"),
        std::string_view("a\0b", 3)}) {
    SCOPED_TRACE(std::string(name));
    const Error error = error_of([&] { confined_path("/data", name); });
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_THAT(error.remedy(), HasSubstr("/data"));
  }
}

TEST(FsyncFolder, MissingFolderIsAnError) {
  const TemporaryFolder folder;
  fsync_folder(folder.path());
  fsync_folder("");
  EXPECT_EQ(error_of([&] { fsync_folder(folder / "missing"); }).kind(), ErrorKind::failure);
}

}  // namespace
}  // namespace ddl
