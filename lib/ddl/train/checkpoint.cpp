#include "ddl/train/checkpoint.h"

#include "ddl/artifact/document.h"
#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/log.h"
#include "ddl/base/units.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ddl {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kStateFile = "state.safetensors";
constexpr const char* kHeaderFile = "checkpoint.json";
constexpr std::string_view kPrefix = "step-";

Json numerics_json(const Numerics& numerics) {
  return {{"global_batch", numerics.global_batch},
          {"task_samples", numerics.task_samples},
          {"threads_per_task", numerics.threads_per_task},
          {"dtype", numerics.dtype},
          {"reduction", numerics.reduction},
          {"codec", numerics.codec},
          {"order", numerics.order},
          {"seed", numerics.seed},
          {"isa", numerics.isa},
          {"libraries", numerics.libraries},
          {"kernels", numerics.kernels}};
}

Numerics parse_numerics(const Json& json) {
  Numerics out;
  json.at("global_batch").get_to(out.global_batch);
  json.at("task_samples").get_to(out.task_samples);
  json.at("threads_per_task").get_to(out.threads_per_task);
  json.at("dtype").get_to(out.dtype);
  json.at("reduction").get_to(out.reduction);
  json.at("codec").get_to(out.codec);
  json.at("order").get_to(out.order);
  json.at("seed").get_to(out.seed);
  json.at("isa").get_to(out.isa);
  json.at("libraries").get_to(out.libraries);
  json.at("kernels").get_to(out.kernels);
  return out;
}

Json recipe_json(const TrainingRecipe& recipe) {
  return {{"optimizer", recipe.optimizer},
          {"learning_rate", recipe.learning_rate},
          {"momentum", recipe.momentum},
          {"beta1", recipe.beta1},
          {"beta2", recipe.beta2},
          {"epsilon", recipe.epsilon},
          {"weight_decay", recipe.weight_decay},
          {"schedule", recipe.schedule},
          {"warmup", recipe.warmup},
          {"length", recipe.length},
          {"final_learning_rate", recipe.final_learning_rate},
          {"class_weights", recipe.class_weights},
          {"init", recipe.init}};
}

TrainingRecipe parse_recipe(const Json& json) {
  TrainingRecipe out;
  json.at("optimizer").get_to(out.optimizer);
  json.at("learning_rate").get_to(out.learning_rate);
  json.at("momentum").get_to(out.momentum);
  json.at("beta1").get_to(out.beta1);
  json.at("beta2").get_to(out.beta2);
  json.at("epsilon").get_to(out.epsilon);
  json.at("weight_decay").get_to(out.weight_decay);
  json.at("schedule").get_to(out.schedule);
  json.at("warmup").get_to(out.warmup);
  json.at("length").get_to(out.length);
  json.at("final_learning_rate").get_to(out.final_learning_rate);
  json.at("class_weights").get_to(out.class_weights);
  json.at("init").get_to(out.init);
  return out;
}

// null: the tensor was zero so far.
Json exponents_json(const ExactExponents& exponents) {
  Json out = Json::array();
  for (const std::int32_t exponent : exponents.exponents)
    out.push_back(exponent == ExactExponents::kZero ? Json() : Json(exponent));
  return out;
}

Json header_json(const CheckpointHeader& header) {
  Json out = {{"format", "ddl-checkpoint"},
              {"version", 1},
              {"step", header.step},
              {"epoch", header.epoch},
              {"step_in_epoch", header.step_in_epoch},
              {"optimizer_updates", header.optimizer_updates},
              {"skipped_steps", header.skipped_steps},
              {"skipped_in_a_row", header.skipped_in_a_row},
              {"numerics", numerics_json(header.numerics)},
              {"recipe", recipe_json(header.recipe)},
              {"exponents", exponents_json(header.exponents)},
              {"dataset_hash", header.dataset_hash},
              {"model_hash", header.model_hash},
              {"parameters_hash", header.parameters_hash},
              {"numeric_class", header.numeric_class},
              {"epoch_loss", header.epoch_loss},
              {"epoch_weight", header.epoch_weight},
              {"resumed_at", header.resumed_at}};
  if (header.best.step >= 0)
    out["best"] = {{"metric", header.best.metric},
                   {"value", header.best.value},
                   {"step", header.best.step},
                   {"evaluations_without_gain", header.best.evaluations_without_gain}};
  return out;
}

CheckpointHeader parse_header(const Json& json) {
  CheckpointHeader out;
  json.at("step").get_to(out.step);
  json.at("epoch").get_to(out.epoch);
  json.at("step_in_epoch").get_to(out.step_in_epoch);
  json.at("optimizer_updates").get_to(out.optimizer_updates);
  json.at("skipped_steps").get_to(out.skipped_steps);
  json.at("skipped_in_a_row").get_to(out.skipped_in_a_row);
  out.numerics = parse_numerics(json.at("numerics"));
  out.recipe = parse_recipe(json.at("recipe"));
  for (const Json& exponent : json.at("exponents"))
    out.exponents.exponents.push_back(exponent.is_null() ? ExactExponents::kZero
                                                         : exponent.get<std::int32_t>());
  json.at("dataset_hash").get_to(out.dataset_hash);
  json.at("model_hash").get_to(out.model_hash);
  json.at("parameters_hash").get_to(out.parameters_hash);
  json.at("numeric_class").get_to(out.numeric_class);
  json.at("epoch_loss").get_to(out.epoch_loss);
  json.at("epoch_weight").get_to(out.epoch_weight);
  json.at("resumed_at").get_to(out.resumed_at);
  if (json.contains("best")) {
    const Json& best = json.at("best");
    best.at("metric").get_to(out.best.metric);
    best.at("value").get_to(out.best.value);
    best.at("step").get_to(out.best.step);
    best.at("evaluations_without_gain").get_to(out.best.evaluations_without_gain);
  }
  return out;
}

// The text with its own checksum left empty is what the checksum is of.
std::string with_checksum(Json json) {
  json["checksum"] = "";
  json["checksum"] = xxh3_128_hex(json.dump(2));
  return json.dump(2) + "\n";
}

Json parse_checked(const std::string& text, const fs::path& file) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) throw bad_input("not a whole JSON file").with_file(file.string());
  for (const std::string& warning : validate_artifact("ddl-checkpoint", text, file))
    log_warning(warning);
  Json unsigned_json = json;
  unsigned_json["checksum"] = "";
  if (json.value("checksum", "") != xxh3_128_hex(unsigned_json.dump(2)))
    throw bad_input("the checksum does not match")
        .with_file(file.string())
        .with_pointer("/checksum");
  return json;
}

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

std::string checkpoint_header_text(const CheckpointHeader& header) {
  return header_json(header).dump();
}

CheckpointHeader parse_checkpoint_header(std::string_view text, const fs::path& file) {
  try {
    return parse_header(Json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    throw bad_input(std::string("not a checkpoint: ") + error.what()).with_file(file.string());
  }
}

void save_checkpoint(const fs::path& folder, const CheckpointHeader& header,
                     const std::vector<NamedArray>& arrays) {
  const fs::path target = folder / checkpoint_name(header.step);
  const fs::path part = fs::path(target).concat(".ddl-tmp-" + std::to_string(::getpid()));
  try {
    fs::create_directories(folder);
    fs::remove_all(part);
    fs::create_directory(part);
    const std::string state_hash = write_safetensors(arrays, part / kStateFile);
    Json json = header_json(header);
    json["state"] = {{"file", kStateFile},
                     {"bytes", static_cast<std::uint64_t>(fs::file_size(part / kStateFile))},
                     {"xxh3_128", state_hash}};
    write_text_atomically(part / kHeaderFile, with_checksum(std::move(json)));
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
  const fs::path file = checkpoint_folder / kHeaderFile;
  const Json json = parse_checked(read_text(file), file);
  Checkpoint out;
  try {
    out.header = parse_header(json);
    const Json& state = json.at("state");
    const fs::path state_file = checkpoint_folder / kStateFile;
    out.state = read_bytes(state_file);
    if (out.state.size() != state.at("bytes").get<std::uint64_t>())
      throw bad_input("holds " + std::to_string(out.state.size()) + " bytes, expected " +
                      std::to_string(state.at("bytes").get<std::uint64_t>()))
          .with_file(state_file.string());
    if (xxh3_128_hex(out.state) != state.at("xxh3_128").get<std::string>())
      throw bad_input("the checksum does not match").with_file(state_file.string());
  } catch (const nlohmann::json::exception& error) {
    throw bad_input(error.what()).with_file(file.string());
  }
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
