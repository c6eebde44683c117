#include "ddl/base/table.h"
#include "ddl/base/units.h"
#include "ddl/data/build.h"

#include <algorithm>

namespace ddl {
namespace {

constexpr std::size_t kShownClasses = 50;
constexpr int kBarCells = 24;

std::string short_list(const std::vector<std::string>& texts, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < texts.size() && i < count; ++i) out += (i > 0 ? ", " : "") + texts[i];
  return texts.size() > count ? out + ", … (" + std::to_string(texts.size()) + ")" : out;
}

std::string fields_text(const DatasetManifest& manifest) {
  Table table({"field", "kind", "type", "shape", "columns"});
  for (const Field& field : manifest.fields)
    table.add_row({field.name, std::string(field_kind_name(field.kind)),
                   std::string(dtype_name(field.dtype)), shape_text(field.shape),
                   short_list(field.columns, 6)});
  return table.text();
}

std::string splits_text(const DatasetManifest& manifest) {
  Table table({"split", "samples", "shards", "bytes"});
  for (const Split& split : manifest.splits) {
    std::int64_t shards = 0;
    std::uint64_t bytes = 0;
    for (const Shard& shard : manifest.shards)
      if (shard.split == split.name) {
        ++shards;
        bytes += shard.bytes;
      }
    table.add_row(
        {split.name, std::to_string(split.samples), std::to_string(shards), format_bytes(bytes)});
  }
  return table.text();
}

std::string classes_text(const DatasetManifest& manifest) {
  std::vector<std::string> headings{"class", "label"};
  for (const Split& split : manifest.splits) headings.push_back(split.name);
  headings.emplace_back("all splits");
  Table table(headings);
  std::vector<std::int64_t> totals(manifest.classes.size(), 0);
  for (const Split& split : manifest.splits)
    for (std::size_t c = 0; c < std::min(totals.size(), split.class_counts.size()); ++c)
      totals[c] += split.class_counts[c];
  const std::int64_t largest =
      totals.empty() ? 1
                     : std::max<std::int64_t>(1, *std::max_element(totals.begin(), totals.end()));
  for (std::size_t c = 0; c < std::min(totals.size(), kShownClasses); ++c) {
    std::vector<std::string> row{std::to_string(c), manifest.classes[c]};
    for (const Split& split : manifest.splits)
      row.push_back(c < split.class_counts.size() ? std::to_string(split.class_counts[c]) : "");
    row.push_back(bar(static_cast<double>(totals[c]) / static_cast<double>(largest), kBarCells) +
                  " " + std::to_string(totals[c]));
    table.add_row(std::move(row));
  }
  std::string out = table.text();
  if (totals.size() > kShownClasses)
    out += "… " + std::to_string(totals.size() - kShownClasses) + " more classes in dataset.json\n";
  return out;
}

}  // namespace

std::string dataset_info_text(const DatasetManifest& manifest) {
  std::string out = manifest.name + ": " + std::string(learning_task_name(manifest.task)) +
                    ", from " + manifest.source_format + " " + short_list(manifest.sources, 4) +
                    "\n\n" + fields_text(manifest) + "\n" + splits_text(manifest);
  if (!manifest.classes.empty()) out += "\n" + classes_text(manifest);
  if (!manifest.tokenizer.kind.empty())
    out +=
        "\ntokens: " + manifest.tokenizer.kind +
        (manifest.tokenizer.vocabulary.empty()
             ? ", 256 values"
             : ", " + std::to_string(manifest.tokenizer.vocabulary.size()) + " in the vocabulary") +
        "\n";
  for (const std::string& note : manifest.notes) out += "note: " + note + "\n";
  out += "hash " + manifest_hash(manifest) + "\n";
  return out;
}

std::string dataset_info(const std::filesystem::path& dataset, bool json) {
  const bool is_folder = std::filesystem::is_directory(dataset);
  const DatasetManifest manifest =
      read_dataset_manifest(is_folder ? dataset / "dataset.json" : dataset);
  return json ? dataset_manifest_text(manifest) : dataset_info_text(manifest);
}

}  // namespace ddl
