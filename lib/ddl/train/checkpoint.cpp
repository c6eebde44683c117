#include "ddl/train/checkpoint.h"

#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/units.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <unistd.h>

namespace ddl {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStateFile = "state.safetensors";
constexpr const char* kRecordFile = "checkpoint.json";
constexpr std::string_view kPrefix = "step-";

std::optional<std::int64_t> step_of(const std::string& name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, step);
  if (parsed.ec != std::errc() || parsed.ptr != end || step < 0) return std::nullopt;
  return step;
}

std::string space_text(const fs::path& folder, std::uint64_t needed) {
  std::error_code none;
  const auto space = fs::space(folder, none);
  std::string out = "needs " + format_bytes(needed);
  if (!none) out += ", free are " + format_bytes(space.available);
  return out;
}

}  // namespace

std::string checkpoint_name(std::int64_t step) {
  std::string digits = std::to_string(step);
  if (digits.size() < 8) digits.insert(0, 8 - digits.size(), '0');
  return std::string(kPrefix) + digits;
}

void save_checkpoint(const fs::path& folder, CheckpointRecord record,
                     const std::vector<NamedArray>& arrays) {
  const fs::path target = folder / checkpoint_name(record.step);
  const fs::path part = fs::path(target).concat(".ddl-tmp-" + std::to_string(::getpid()));
  try {
    fs::create_directories(folder);
    fs::remove_all(part);
    fs::create_directory(part);
    record.state_file = kStateFile;
    record.state_xxh3_128 = write_safetensors(arrays, part / kStateFile);
    record.state_bytes = fs::file_size(part / kStateFile);
    write_checkpoint_record(record, part / kRecordFile);
    fsync_folder(part);
    // A folder can only be renamed over an empty one: what stands there is of the same step, from
    // before a resume, and goes first.
    fs::remove_all(target);
    fs::rename(part, target);
    fsync_folder(folder);
  } catch (const std::exception& error) {
    std::error_code none;
    fs::remove_all(part, none);
    throw failure(std::string("the checkpoint could not be saved (") +
                      space_text(folder, safetensors_bytes(arrays)) + "): " + error.what(),
                  "older checkpoints are kept; make room and run again with --resume")
        .with_file(target.string());
  }
}

Checkpoint load_checkpoint(const fs::path& checkpoint_folder) {
  Checkpoint out;
  out.record = read_checkpoint_record(checkpoint_folder / kRecordFile);
  const fs::path state_file = confined_path(checkpoint_folder, out.record.state_file);
  out.state = read_bytes(state_file);
  if (out.state.size() != out.record.state_bytes)
    throw bad_input("holds " + std::to_string(out.state.size()) + " bytes, expected " +
                    std::to_string(out.record.state_bytes))
        .with_file(state_file.string());
  if (xxh3_128_hex(out.state) != out.record.state_xxh3_128)
    throw bad_input("the checksum does not match").with_file(state_file.string());
  return out;
}

std::vector<std::int64_t> checkpoint_steps(const fs::path& folder) {
  std::vector<std::int64_t> steps;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (const auto step = step_of(entry.path().filename().string())) steps.push_back(*step);
  std::sort(steps.begin(), steps.end());
  return steps;
}

std::optional<Checkpoint> newest_checkpoint(const fs::path& folder,
                                            std::vector<std::string>& skipped) {
  const std::vector<std::int64_t> steps = checkpoint_steps(folder);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    try {
      return load_checkpoint(folder / checkpoint_name(*step));
    } catch (const Error& error) {
      skipped.push_back(checkpoint_name(*step) + " is skipped: " + error.what());
    }
  }
  return std::nullopt;
}

void prune_checkpoints(const fs::path& folder, int keep, const std::vector<std::int64_t>& kept) {
  std::vector<std::int64_t> steps = checkpoint_steps(folder);
  const std::size_t newest = static_cast<std::size_t>(std::max(1, keep));
  if (steps.size() > newest) {
    steps.resize(steps.size() - newest);
    for (const std::int64_t step : steps)
      if (std::find(kept.begin(), kept.end(), step) == kept.end())
        fs::remove_all(folder / checkpoint_name(step));
  }
  std::error_code none;
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.path().filename().string().find(".ddl-tmp-") != std::string::npos)
      leftovers.push_back(entry.path());
  for (const fs::path& leftover : leftovers) fs::remove_all(leftover, none);
}

}  // namespace ddl
