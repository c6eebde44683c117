// The run folder, written by rank 0 alone:
//   run.json  metrics.jsonl  model.onnx  checkpoints/  .lock
// metrics.jsonl has one object a line:
//   {"kind": "step", "step", "epoch", "loss", "learning_rate", "samples", "seconds", "skipped"}
//   {"kind": "evaluation", "step", "epoch", "train loss", "val loss", "val accuracy", …}
// A run that goes on drops the lines from beyond its checkpoint first.
// The lock is held by the process for as long as the object lives, so that never two runs write to
// one folder.
#pragma once

#include "ddl/artifact/run.h"
#include "ddl/base/file.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

namespace ddl {

class RunFolder {
 public:
  // Checks that the folder may be used: new or empty; else it must hold a run, and `resume` or
  // `force` be given (force removes the old run's files and nothing else). Proves that it can be
  // written and that needed_bytes are free. bad_input otherwise. Removes nothing yet.
  RunFolder(std::filesystem::path folder, bool resume, bool force, std::uint64_t needed_bytes);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  // Starts writing: with force the old run's files go; metrics keep lines below `first_step`.
  void open(std::int64_t first_step);
  void write_record(const RunRecord& record);
  void log_step(std::int64_t step, std::int64_t epoch, double loss, double learning_rate,
                std::int64_t samples, double seconds, bool skipped);
  void log_evaluation(std::int64_t step, std::int64_t epoch,
                      const std::map<std::string, double>& metrics);

  const std::filesystem::path& path() const { return folder_; }
  std::filesystem::path checkpoints() const { return folder_ / "checkpoints"; }
  std::filesystem::path record_file() const { return folder_ / "run.json"; }
  std::filesystem::path metrics_file() const { return folder_ / "metrics.jsonl"; }
  std::filesystem::path model_file() const { return folder_ / "model.onnx"; }

 private:
  std::filesystem::path folder_;
  bool resume_, force_;
  int lock_ = -1;
  std::unique_ptr<LineWriter> metrics_;
};

}  // namespace ddl
