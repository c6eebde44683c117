// Checkpoints: everything a run needs to go on with the same bits, on any number of workers.
//
//   run/checkpoints/step-00000123/state.safetensors   weights, buffers, optimizer state
//                                 checkpoint.json     position, numerics, recipe, exponents, and
//                                 the
//                                                     state file's size and XXH3-128; "checksum" is
//                                                     the XXH3-128 of this text with "checksum": ""
// State arrays are named "model/NAME" and "optimizer/WHAT/NAME".
// Both files are written into a folder "step-….ddl-tmp-PID" that is renamed once they are on disk:
// a killed save leaves nothing under the final name. The newest whole one is found by checksum.
//
// Only rank 0 writes and reads files; others get the bytes from it.
// Errors: failure naming the folder; when the disk is full, with bytes needed and free, and the
// part removed: older checkpoints stay.
#pragma once

#include "ddl/artifact/plan.h"
#include "ddl/artifact/run.h"
#include "ddl/comm/exact.h"
#include "ddl/train/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ddl {

struct BestModel {
  std::string metric;  // "val accuracy"; "" while there is none
  double value = 0;
  std::int64_t step = -1;  // its checkpoint is kept
  std::int64_t evaluations_without_gain = 0;
  bool operator==(const BestModel&) const = default;
};

// checkpoint.json, but for the state's own record.
struct CheckpointHeader {
  std::int64_t step = 0;  // updates and skips done: the next step to run
  std::int64_t epoch = 0, step_in_epoch = 0;
  std::int64_t optimizer_updates = 0, skipped_steps = 0, skipped_in_a_row = 0;
  Numerics numerics;
  TrainingRecipe recipe;
  ExactExponents exponents;
  BestModel best;
  std::string dataset_hash, model_hash, parameters_hash, numeric_class;
  std::vector<std::int64_t> resumed_at;
  // Of the epoch so far: sums of weighted losses and of weights, for its mean loss.
  double epoch_loss = 0, epoch_weight = 0;
};

struct Checkpoint {
  CheckpointHeader header;
  std::vector<std::byte> state;  // the file's bytes; parse_safetensors gives the arrays
};

std::string checkpoint_name(std::int64_t step);  // "step-00000123"

// Writes run/checkpoints/NAME. An existing one of this step is kept when whole, else replaced.
void save_checkpoint(const std::filesystem::path& folder, const CheckpointHeader& header,
                     const std::vector<NamedArray>& arrays);

// Reads and checks one; bad_input saying what is damaged.
Checkpoint load_checkpoint(const std::filesystem::path& checkpoint_folder);

// The newest whole checkpoint under run/checkpoints; one line in `skipped` for each newer one that
// is not whole. nullopt when there is none.
std::optional<Checkpoint> newest_checkpoint(const std::filesystem::path& folder,
                                            std::vector<std::string>& skipped);

// Keeps the newest `keep` checkpoints in order of their step number (at least one), and those in
// `kept`; removes the others and what killed saves left.
void prune_checkpoints(const std::filesystem::path& folder, int keep,
                       const std::vector<std::int64_t>& kept);

std::vector<std::int64_t> checkpoint_steps(const std::filesystem::path& folder);  // ascending

// For sending a header to other ranks.
std::string checkpoint_header_text(const CheckpointHeader& header);
CheckpointHeader parse_checkpoint_header(std::string_view text, const std::filesystem::path& file);

}  // namespace ddl
