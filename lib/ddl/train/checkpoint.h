// Checkpoints: everything a run needs to go on with the same bits, on any number of workers.
//
//   run/checkpoints/step-00000123/state.safetensors   weights, buffers, optimizer state
//                                 checkpoint.json     where the run stands (artifact/checkpoint.h),
//                                                     and the state file's size and hash
// State arrays are named "model/NAME" and "optimizer/WHAT/NAME".
// Both files are written into a folder "step-….ddl-tmp-PID" that is renamed once they are on disk:
// a killed save leaves nothing under the final name. The newest whole one is found by checksum.
//
// Only rank 0 writes and reads files; others get the bytes from it.
// Errors: failure naming the folder; when the disk is full, with bytes needed and free, and the
// part removed: older checkpoints stay.
#pragma once

#include "ddl/artifact/checkpoint.h"
#include "ddl/train/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ddl {

struct Checkpoint {
  CheckpointRecord record;
  std::vector<std::byte> state;  // the file's bytes; parse_safetensors gives the arrays
};

std::string checkpoint_name(std::int64_t step);  // "step-00000123"

// Writes run/checkpoints/NAME. An existing one of this step is replaced.
// The state's own fields of the record are filled in here.
void save_checkpoint(const std::filesystem::path& folder, CheckpointRecord record,
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

}  // namespace ddl
