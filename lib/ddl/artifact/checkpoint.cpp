#include "ddl/artifact/checkpoint.h"

#include "ddl/artifact/records.h"
#include "ddl/base/checksum.h"
#include "ddl/base/file.h"

#include <limits>
#include <utility>

namespace ddl {
namespace artifact {
namespace {

constexpr std::string_view kFormat = "ddl-checkpoint";
constexpr std::int32_t kZero = std::numeric_limits<std::int32_t>::min();

std::string checksum_of(Json json) {
  json["checksum"] = "";
  return xxh3_128_hex(json.dump(2));
}

Json record_json(const CheckpointRecord& record) {
  Json out = new_document(kFormat);
  out["step"] = record.step;
  out["epoch"] = record.epoch;
  out["step_in_epoch"] = record.step_in_epoch;
  out["optimizer_updates"] = record.optimizer_updates;
  out["skipped_steps"] = record.skipped_steps;
  out["skipped_in_a_row"] = record.skipped_in_a_row;
  out["numerics"] = numerics_json(record.numerics);
  out["recipe"] = recipe_json(record.recipe);
  Json& exponents = out["exponents"] = Json::array();
  for (const std::int32_t exponent : record.exponents)
    exponents.push_back(exponent == kZero ? Json() : Json(exponent));
  out["dataset_hash"] = record.dataset_hash;
  out["model_hash"] = record.model_hash;
  out["parameters_hash"] = record.parameters_hash;
  out["numeric_class"] = record.numeric_class;
  out["epoch_loss"] = finite_or_null(record.epoch_loss);
  out["epoch_weight"] = finite_or_null(record.epoch_weight);
  out["resumed_at"] = record.resumed_at;
  if (record.best != BestRecord())
    out["best"] = {{"metric", record.best.metric},
                   {"value", finite_or_null(record.best.value)},
                   {"step", record.best.step},
                   {"evaluations_without_gain", record.best.evaluations_without_gain}};
  out["state"] = {{"file", record.state_file},
                  {"bytes", record.state_bytes},
                  {"xxh3_128", record.state_xxh3_128}};
  out["checksum"] = checksum_of(out);
  return out;
}

CheckpointRecord read_record(const Json& json, const std::filesystem::path& file) {
  std::string checksum;
  read(json, "checksum", checksum);
  if (checksum != checksum_of(json))
    refuse(file, "/checksum", "the checksum does not match: the file is damaged or was edited",
           "use an older checkpoint");
  CheckpointRecord out;
  read(json, "step", out.step);
  read(json, "epoch", out.epoch);
  read(json, "step_in_epoch", out.step_in_epoch);
  read(json, "optimizer_updates", out.optimizer_updates);
  read(json, "skipped_steps", out.skipped_steps);
  read(json, "skipped_in_a_row", out.skipped_in_a_row);
  out.numerics = read_numerics(json.at("numerics"), file, "/numerics");
  out.recipe = read_recipe(json.at("recipe"), file, "/recipe");
  for (const Json& exponent : json.at("exponents"))
    out.exponents.push_back(exponent.is_null() ? kZero : exponent.get<std::int32_t>());
  read(json, "dataset_hash", out.dataset_hash);
  read(json, "model_hash", out.model_hash);
  read(json, "parameters_hash", out.parameters_hash);
  read(json, "numeric_class", out.numeric_class);
  for (const auto& [key, value] :
       {std::pair{"epoch_loss", &out.epoch_loss}, std::pair{"epoch_weight", &out.epoch_weight}})
    if (const auto found = json.find(key); found != json.end()) *value = number_or_nan(*found);
  read(json, "resumed_at", out.resumed_at);
  if (const auto found = json.find("best"); found != json.end()) {
    read(*found, "metric", out.best.metric);
    out.best.value = number_or_nan(found->at("value"));
    read(*found, "step", out.best.step);
    read(*found, "evaluations_without_gain", out.best.evaluations_without_gain);
  }
  const Json& state = json.at("state");
  read(state, "file", out.state_file);
  read(state, "bytes", out.state_bytes);
  read(state, "xxh3_128", out.state_xxh3_128);
  try {
    confined_path("checkpoint", out.state_file);
  } catch (const Error& error) {
    refuse(file, "/state/file", error.reason(), error.remedy());
  }
  if (out.step_in_epoch > out.step)
    refuse(file, "/step_in_epoch",
           "found " + std::to_string(out.step_in_epoch) + ", expected at most step " +
               std::to_string(out.step));
  return out;
}

}  // namespace
}  // namespace artifact

CheckpointRecord parse_checkpoint_record(std::string_view text, const std::filesystem::path& file) {
  return artifact::read_record(artifact::parse_document(artifact::kFormat, text, file), file);
}

CheckpointRecord read_checkpoint_record(const std::filesystem::path& file) {
  return parse_checkpoint_record(read_text(file, artifact::kMaximumBytes), file);
}

std::string checkpoint_record_text(const CheckpointRecord& record) {
  return artifact::document_text(artifact::kFormat, artifact::record_json(record), "checkpoint");
}

void write_checkpoint_record(const CheckpointRecord& record, const std::filesystem::path& file) {
  write_text_atomically(
      file, artifact::document_text(artifact::kFormat, artifact::record_json(record), file));
}

}  // namespace ddl
