// checkpoint.json: where a run stands, beside the file that holds its state (weights, buffers,
// optimizer state). With both, training goes on with the same bits on any number of workers.
//
// The text carries its own checksum: "checksum" is the XXH3-128 of the text with "checksum": "".
// A half-written or edited file is refused; the state file is checked by its size and hash by
// whoever reads it (ddl/train/checkpoint.h).
#pragma once

#include "ddl/artifact/plan.h"
#include "ddl/artifact/run.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

// The state of choosing the best model.
struct BestRecord {
  std::string metric;  // "val accuracy"; "" while there is none
  double value = 0;
  std::int64_t step = -1;
  std::int64_t evaluations_without_gain = 0;
  bool operator==(const BestRecord&) const = default;
};

struct CheckpointRecord {
  std::int64_t step = 0;  // updates and skips done: the next step to run
  std::int64_t epoch = 0, step_in_epoch = 0;
  std::int64_t optimizer_updates = 0, skipped_steps = 0, skipped_in_a_row = 0;
  Numerics numerics;
  TrainingRecipe recipe;
  // Of the exact reduction, per tensor; INT32_MIN (null in the file): the tensor was zero so far.
  std::vector<std::int32_t> exponents;
  std::string dataset_hash, model_hash, parameters_hash;
  std::string numeric_class;                // of the workers that computed so far
  double epoch_loss = 0, epoch_weight = 0;  // sums over the epoch so far
  std::vector<std::int64_t> resumed_at;
  BestRecord best;
  std::string state_file;  // a name beside checkpoint.json
  std::uint64_t state_bytes = 0;
  std::string state_xxh3_128;
  bool operator==(const CheckpointRecord&) const = default;
};

CheckpointRecord read_checkpoint_record(const std::filesystem::path& file);
void write_checkpoint_record(const CheckpointRecord& record, const std::filesystem::path& file);
std::string checkpoint_record_text(const CheckpointRecord& record);
// From a text that came by another way than a file; `file` is for messages.
CheckpointRecord parse_checkpoint_record(std::string_view text, const std::filesystem::path& file);

}  // namespace ddl
