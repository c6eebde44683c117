#include "ddl/data/output_folder.h"

#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/log.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

namespace ddl {
namespace {

namespace fs = std::filesystem;

std::string marker(const fs::path& target) {
  return "." + target.filename().string() + ".ddl-tmp-";
}

bool process_is_gone(std::string_view pid_text) {
  int pid = 0;
  const auto [end, error] =
      std::from_chars(pid_text.data(), pid_text.data() + pid_text.size(), pid);
  if (error != std::errc() || end != pid_text.data() + pid_text.size() || pid <= 0) return false;
  return kill(pid, 0) != 0 && errno == ESRCH;
}

void remove_leftovers(const fs::path& target) {
  std::error_code ignored;
  const std::string prefix = marker(target);
  for (const fs::directory_entry& entry : fs::directory_iterator(target.parent_path(), ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || !process_is_gone(std::string_view(name).substr(prefix.size())))
      continue;
    log_info("removing " + entry.path().string() + ", left by a run that was killed");
    fs::remove_all(entry.path(), ignored);
  }
}

bool is_replaceable(const fs::path& target) {
  std::error_code error;
  return fs::is_directory(target, error) &&
         (fs::is_empty(target, error) || fs::exists(target / "dataset.json", error));
}

int rename_with(const fs::path& from, const fs::path& to, unsigned flags) {
  return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), flags) == 0 ? 0 : errno;
}

}  // namespace

OutputFolder::OutputFolder(fs::path target, bool replace) : replace_(replace) {
  if (target.empty()) throw bad_input("no output folder is given", "say -o FOLDER");
  target_ = fs::absolute(target).lexically_normal();
  if (target_.filename().empty()) target_ = target_.parent_path();
  if (target_.filename().empty() || target_ == target_.parent_path())
    throw bad_input("the output must be a folder with a name of its own")
        .with_file(target.string());
  if (fs::exists(fs::symlink_status(target_))) {
    const bool empty = fs::is_directory(target_) && fs::is_empty(target_);
    if (!empty && !replace)
      throw bad_input("exists already", "--force replaces it").with_file(target_.string());
    if (!is_replaceable(target_))
      throw bad_input("exists and is not a data set, so it is not replaced",
                      "choose another output folder")
          .with_file(target_.string());
    replace_ = true;
  }
  require_writable_folder(target_.parent_path());
  remove_leftovers(target_);
  temporary_ = target_.parent_path() / (marker(target_) + std::to_string(getpid()));
  std::error_code error;
  fs::remove_all(temporary_, error);
  if (!fs::create_directory(temporary_, error))
    throw bad_input("the folder cannot be made: " + error.message()).with_file(temporary_.string());
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void OutputFolder::commit() {
  fsync_folder(temporary_);
  int error = rename_with(temporary_, target_, RENAME_NOREPLACE);
  // Exchanged: the old data set now has the temporary name and is removed with it.
  if (error == EEXIST && replace_) error = rename_with(temporary_, target_, RENAME_EXCHANGE);
  if (error == EEXIST)
    throw bad_input("appeared while this data set was built", "--force replaces it")
        .with_file(target_.string());
  if (error == EINVAL || error == ENOSYS) {
    // A file system without these flags: plain renames, the old set last seen a moment before.
    std::error_code code;
    if (replace_) fs::remove_all(target_, code);
    error = ::rename(temporary_.c_str(), target_.c_str()) == 0 ? 0 : errno;
  }
  if (error != 0)
    throw system_failure("cannot be renamed into place", error).with_file(target_.string());
  fsync_folder(target_.parent_path());
}

}  // namespace ddl
