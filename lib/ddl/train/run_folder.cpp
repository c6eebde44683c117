#include "ddl/train/run_folder.h"

#include "ddl/base/error.h"

#include <cerrno>
#include <cmath>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

namespace ddl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kLock = ".lock";

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

bool holds_a_run(const fs::path& folder) {
  return fs::exists(folder / "run.json") || fs::exists(folder / "checkpoints") ||
         fs::exists(folder / "metrics.jsonl");
}

bool holds_nothing(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename() != kLock) return false;
  return true;
}

int lock_folder(const fs::path& folder) {
  const fs::path file = folder / kLock;
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) throw system_failure("cannot be made", errno).with_file(file.string());
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  const int reason = errno;
  ::close(descriptor);
  if (reason == EWOULDBLOCK)
    throw bad_input("another run is writing to this folder", "wait for it or give another -o")
        .with_file(folder.string());
  return -1;  // a file system without locks: go on without
}

}  // namespace

RunFolder::RunFolder(fs::path folder, bool resume, bool force, std::uint64_t needed_bytes)
    : folder_(std::move(folder)), resume_(resume), force_(force) {
  if (folder_.empty()) throw bad_input("no output folder was given", "add -o RUN");
  std::error_code none;
  const bool exists = fs::exists(folder_, none);
  if (exists && !fs::is_directory(folder_))
    throw bad_input("is a file, not a folder for a run", "give another -o")
        .with_file(folder_.string());
  if (resume && !exists)
    throw bad_input("there is no run to resume", "leave --resume out to begin one")
        .with_file(folder_.string());
  if (exists && !resume && !holds_nothing(folder_)) {
    if (!holds_a_run(folder_))
      throw bad_input("is not empty and holds no run", "give another -o")
          .with_file(folder_.string());
    if (!force)
      throw bad_input("holds a run already", "--resume goes on with it, --force replaces it")
          .with_file(folder_.string());
  }
  require_writable_folder(folder_, needed_bytes);
  lock_ = lock_folder(folder_);
}

RunFolder::~RunFolder() {
  if (lock_ < 0) return;
  std::error_code none;
  fs::remove(folder_ / kLock, none);
  ::close(lock_);
}

void RunFolder::open(std::int64_t first_step) {
  if (force_ && !resume_)
    for (const fs::path& old : {record_file(), metrics_file(), model_file(), checkpoints()})
      fs::remove_all(old);
  remove_stale_temporaries(folder_);
  fs::create_directories(checkpoints());
  if (resume_ && fs::exists(metrics_file())) {
    // Lines of steps that will be run again go.
    std::istringstream lines(read_text(metrics_file()));
    std::string kept, line;
    while (std::getline(lines, line)) {
      const Json entry = Json::parse(line, nullptr, false);
      if (!entry.is_object()) continue;
      const std::int64_t step = entry.value("step", std::int64_t{-1});
      const bool evaluation = entry.value("kind", "") == "evaluation";
      if (step >= 0 && (step < first_step || (evaluation && step == first_step)))
        kept += line + "\n";
    }
    write_text_atomically(metrics_file(), kept);
  }
  metrics_ = std::make_unique<LineWriter>(
      metrics_file(), resume_ ? LineWriter::Mode::append : LineWriter::Mode::truncate);
}

void RunFolder::write_record(const RunRecord& record) {
  write_run(record, record_file());
}

void RunFolder::log_step(std::int64_t step, std::int64_t epoch, double loss, double learning_rate,
                         std::int64_t samples, double seconds, bool skipped) {
  const Json line = {{"kind", "step"},
                     {"step", step},
                     {"epoch", epoch},
                     {"loss", number(loss)},
                     {"learning_rate", learning_rate},
                     {"samples", samples},
                     {"seconds", seconds},
                     {"skipped", skipped}};
  metrics_->write_line(line.dump());
}

void RunFolder::log_evaluation(std::int64_t step, std::int64_t epoch,
                               const std::map<std::string, double>& metrics) {
  Json line = {{"kind", "evaluation"}, {"step", step}, {"epoch", epoch}};
  for (const auto& [name, value] : metrics) line[name] = number(value);
  metrics_->write_line(line.dump());
  metrics_->sync();
}

}  // namespace ddl
