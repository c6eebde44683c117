#include "ddl/data/build.h"

#include "ddl/base/checksum.h"
#include "ddl/base/clock.h"
#include "ddl/base/error.h"
#include "ddl/base/progress.h"
#include "ddl/base/units.h"
#include "ddl/data/build_record.h"
#include "ddl/data/output_folder.h"
#include "ddl/data/readers/reader.h"
#include "ddl/data/shard_writer.h"
#include "ddl/data/splits.h"
#include "ddl/data/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

namespace ddl {
namespace {

constexpr std::int64_t kBlockBytes = std::int64_t{8} << 20;

void check_options(const BuildOptions& options) {
  if (options.sources.empty())
    throw bad_input("no source is given", "ddl-shard build SOURCE -o OUTPUT");
  if (options.shard_bytes < 4096 || options.shard_bytes > (std::uint64_t{4} << 30))
    throw bad_input("a shard size of " + format_bytes(options.shard_bytes) + " is out of range",
                    "use 4KiB to 4GiB");
  if (options.zstd_level < 1 || options.zstd_level > 22)
    throw bad_input("zstd level " + std::to_string(options.zstd_level) + " is out of range",
                    "use 1 to 22");
  if (options.context < 1 || options.context > 1'000'000)
    throw bad_input("a context of " + std::to_string(options.context) + " tokens is out of range");
  if (options.skip_lines < 0) throw bad_input("a negative number of lines cannot be skipped");
}

// One source with all that is known about it.
struct Source {
  SourceSpec spec;
  std::unique_ptr<SourceReader> reader;
  SourceSummary summary;
  std::vector<std::int8_t> splits;  // of each sample
  std::int64_t first_id = 0;
};

struct SplitState {
  std::unique_ptr<ShardWriter> writer;
  Split record;
  Xxh128 ids;
};

class Builder {
 public:
  explicit Builder(const BuildOptions& options)
      : options_(options),
        threads_(options.threads > 0 ? options.threads : available_threads()),
        pool_(threads_) {}
  BuildReport run();

 private:
  void open_sources(const std::filesystem::path& scratch);
  void scan();
  void assign_splits();
  void find_means();
  void write(const std::filesystem::path& folder);
  void write_block(const Source& source, SampleBlock& block);
  void fill_missing(SampleBlock& block) const;
  void finish_manifest();
  void describe_classes();
  std::int64_t block_samples() const;
  void say(std::string line) { report_.lines.push_back(std::move(line)); }

  const BuildOptions& options_;
  int threads_;
  ThreadPool pool_;
  std::vector<Source> sources_;
  SourceSchema schema_;
  SplitFractions fractions_;  // cut from the first source
  std::string format_;
  BuildReport report_;
  std::array<SplitState, 3> splits_;
  std::vector<std::optional<FieldStatistics>> statistics_;  // per field; of image and numeric ones
  std::vector<float> fill_;                                 // means of x, when values are missing
  std::vector<std::pair<std::uint64_t, std::int8_t>> content_;  // hash of inputs, split
};

void Builder::open_sources(const std::filesystem::path& scratch) {
  format_ = options_.format;
  if (format_ == "auto") {
    std::string why;
    format_ = detect_format(options_.sources.front(), why);
    say("format: " + format_ + " (" + why + "; --format overrides)");
  }
  std::vector<SourceSpec> specs = find_sources(format_, options_);
  fractions_ = {options_.val_fraction, options_.test_fraction};
  for (const SourceSpec& spec : specs) {
    if (spec.split == "val") fractions_.val = 0;
    if (spec.split == "test") fractions_.test = 0;
  }
  check_fractions(fractions_);
  for (SourceSpec& spec : specs) {
    Source source;
    const SplitFractions fractions = sources_.empty() ? fractions_ : SplitFractions{};
    source.reader = make_reader(format_, spec, {options_, pool_, scratch, fractions});
    source.spec = std::move(spec);
    sources_.push_back(std::move(source));
  }
}

void Builder::scan() {
  std::int64_t id = 0;
  for (Source& source : sources_) {
    const bool first = &source == &sources_.front();
    source.summary = source.reader->scan(first ? nullptr : &schema_);
    if (first) schema_ = source.summary.schema;
    source.first_id = id;
    id += source.summary.samples;
    report_.source_bytes += source.summary.bytes;
    report_.ignored_files += source.summary.ignored_files;
    for (const std::string& line : source.summary.lines)
      say((source.spec.split.empty() || source.spec.split == "train" ? ""
                                                                     : source.spec.split + ": ") +
          line);
    if (!source.spec.ignored.empty()) say("ignored: " + joined_text(source.spec.ignored));
  }
  if (schema_.task == LearningTask::classification && schema_.classes.size() == 1)
    say("warning: there is a single class, '" + schema_.classes[0] + "': nothing to tell apart");
}

// A source of its own is one split; the first source is cut for the splits that have none.
void Builder::assign_splits() {
  for (Source& source : sources_) {
    const std::int64_t samples = source.summary.samples;
    if (&source != &sources_.front()) {
      source.splits.assign(static_cast<std::size_t>(samples),
                           source.spec.split == "val" ? kVal : kTest);
    } else if (!source.summary.splits.empty()) {
      source.splits = source.summary.splits;
    } else {
      const SourceReader& reader = *source.reader;
      source.splits =
          cut_splits(samples,
                     options_.stratify ? std::span<const std::int32_t>(source.summary.labels)
                                       : std::span<const std::int32_t>(),
                     fractions_, options_.seed,
                     [&](std::int64_t sample) { return reader.sample_key(sample); });
    }
    if (std::find(source.splits.begin(), source.splits.end(), kTrain) == source.splits.end() &&
        &source == &sources_.front())
      throw bad_input("no sample is left for the train split",
                      "give more data or smaller --val and --test fractions")
          .with_file(source.spec.paths.front().string());
  }
}

std::int64_t Builder::block_samples() const {
  std::int64_t bytes = 1;
  for (const Field& field : schema_.fields)
    bytes += element_count(field.shape) * static_cast<std::int64_t>(dtype_bytes(field.dtype));
  return std::clamp<std::int64_t>(kBlockBytes / bytes, std::min(threads_, 64), 65536);
}

std::span<const std::byte> row_of(const SampleBlock& block, const Field& field, std::size_t f,
                                  std::int64_t sample) {
  const std::size_t bytes =
      static_cast<std::size_t>(element_count(field.shape)) * dtype_bytes(field.dtype);
  return std::span(block.values[f]).subspan(static_cast<std::size_t>(sample) * bytes, bytes);
}

// Missing numbers are filled with the mean of the column's train values: one more pass, only when
// there are any.
void Builder::find_means() {
  const auto missing = [](const Source& source) { return source.summary.has_missing; };
  if (std::none_of(sources_.begin(), sources_.end(), missing)) return;
  const Field& x = schema_.fields.front();
  FieldStatistics statistics(x);
  Source& train = sources_.front();
  SampleBlock block;
  while (train.reader->read(block_samples(), block))
    for (std::int64_t i = 0; i < block.count; ++i)
      if (train.splits[static_cast<std::size_t>(block.first + i)] == kTrain)
        statistics.add(row_of(block, x, 0, i));
  train.reader->rewind();
  // An image has one mean a channel, columns have one each.
  const auto values = static_cast<std::size_t>(element_count(x.shape));
  const std::size_t entries = statistics.normalisation().mean.size();
  for (std::size_t i = 0; i < values; ++i)
    fill_.push_back(static_cast<float>(statistics.mean(i / (values / entries))));
}

void Builder::fill_missing(SampleBlock& block) const {
  if (fill_.empty()) return;
  std::vector<std::byte>& values = block.values.front();
  for (std::size_t i = 0; i * sizeof(float) < values.size(); ++i) {
    float value = 0;
    std::memcpy(&value, values.data() + i * sizeof value, sizeof value);
    if (!std::isnan(value)) continue;
    value = fill_[i % fill_.size()];
    std::memcpy(values.data() + i * sizeof value, &value, sizeof value);
  }
}

bool is_label(const Field& field) {
  return field.kind == FieldKind::label || field.kind == FieldKind::target;
}

void Builder::write_block(const Source& source, SampleBlock& block) {
  fill_missing(block);
  std::vector<std::span<const std::byte>> rows(schema_.fields.size());
  for (std::int64_t i = 0; i < block.count; ++i) {
    const auto sample = static_cast<std::size_t>(block.first + i);
    if (!block.damaged.empty() && !block.damaged[static_cast<std::size_t>(i)].empty()) {
      ++report_.skipped_damaged;
      say("skipped: " + block.damaged[static_cast<std::size_t>(i)]);
      continue;
    }
    const std::int8_t split_number = source.splits[sample];
    SplitState& split = splits_[static_cast<std::size_t>(split_number)];
    std::uint64_t content = 0;
    for (std::size_t f = 0; f < rows.size(); ++f) {
      const Field& field = schema_.fields[f];
      rows[f] = row_of(block, field, f, i);
      if (!is_label(field)) {
        const std::array<std::uint64_t, 2> pair{content, xxh3_64(rows[f])};
        content = xxh3_64(std::as_bytes(std::span(pair)));
      }
      if (split_number == kTrain && statistics_[f]) statistics_[f]->add(rows[f]);
    }
    const std::int64_t id = source.first_id + block.first + i;
    split.writer->add(rows, id);
    split.ids.update_u64(static_cast<std::uint64_t>(id));
    ++split.record.samples;
    if (!source.summary.labels.empty())
      ++split.record.class_counts[static_cast<std::size_t>(source.summary.labels[sample])];
    content_.emplace_back(content, split_number);
  }
}

void Builder::write(const std::filesystem::path& folder) {
  for (const Field& field : schema_.fields) {
    const bool numbers = field.kind == FieldKind::image || field.kind == FieldKind::numeric;
    statistics_.push_back(numbers ? std::optional<FieldStatistics>(field) : std::nullopt);
  }
  std::int64_t total = 0;
  for (const Source& source : sources_) total += source.summary.samples;
  for (std::size_t s = 0; s < splits_.size(); ++s) {
    splits_[s].record.name = kSplitNames[s];
    splits_[s].record.class_counts.assign(schema_.classes.size(), 0);
    splits_[s].writer = std::make_unique<ShardWriter>(
        folder, kSplitNames[s], schema_.fields,
        ShardWriterOptions{options_.shard_bytes, options_.zstd_level}, pool_);
  }
  Progress progress("writing", static_cast<std::uint64_t>(total), "samples");
  SampleBlock block;
  for (Source& source : sources_) {
    while (source.reader->read(block_samples(), block)) {
      write_block(source, block);
      for (SplitState& split : splits_) split.writer->compress_waiting();
      progress.advance(static_cast<std::uint64_t>(block.count));
    }
  }
  for (SplitState& split : splits_) split.writer->finish();
}

// Samples whose inputs are byte for byte those of a sample in an earlier split.
std::int64_t count_duplicates(std::vector<std::pair<std::uint64_t, std::int8_t>>& content) {
  std::sort(content.begin(), content.end());
  std::int64_t out = 0;
  for (std::size_t i = 0, first = 0; i < content.size(); ++i) {
    if (content[i].first != content[first].first) first = i;
    if (content[i].second != content[first].second) ++out;
  }
  return out;
}

void Builder::describe_classes() {
  if (schema_.classes.empty()) return;
  std::string line = std::to_string(schema_.classes.size()) + " classes:";
  for (std::size_t i = 0; i < schema_.classes.size(); ++i) {
    if (i == 40) {
      line += " … (all in dataset.json)";
      break;
    }
    std::int64_t count = 0;
    for (const SplitState& split : splits_) count += split.record.class_counts[i];
    line += (i > 0 ? ", " : " ") + std::to_string(i) + " = " + schema_.classes[i] + " (" +
            std::to_string(count) + ")";
  }
  say(std::move(line));
}

void Builder::finish_manifest() {
  DatasetManifest& manifest = report_.manifest;
  manifest.name = options_.name.empty() ? plain_name(options_.sources.front()) : options_.name;
  manifest.task = schema_.task;
  manifest.classes = schema_.classes;
  manifest.tokenizer = schema_.tokenizer;
  manifest.source_format = format_;
  for (const Source& source : sources_)
    for (const std::filesystem::path& path : source.spec.paths) {
      const std::filesystem::path name = path.lexically_normal();
      manifest.sources.push_back(
          (name.filename().empty() ? name.parent_path() : name).filename().string());
    }
  manifest.options = shaping_options(options_, format_);
  for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
    Field field = schema_.fields[f];
    if (statistics_[f]) {
      field.normalisation = statistics_[f]->normalisation();
      std::vector<std::string> constant;
      for (const std::size_t i : statistics_[f]->constant())
        constant.push_back(i < field.columns.size() ? "'" + field.columns[i] + "'"
                                                    : "channel " + std::to_string(i));
      if (!constant.empty()) {
        manifest.notes.push_back("constant in train, so not scaled: " + joined_text(constant));
        say(manifest.notes.back());
      }
    }
    manifest.fields.push_back(std::move(field));
  }
  for (SplitState& split : splits_) {
    if (split.record.samples == 0) continue;
    split.record.ids_hash = split.ids.hex();
    manifest.splits.push_back(split.record);
    for (const Shard& shard : split.writer->shards()) {
      manifest.shards.push_back(shard);
      report_.shard_bytes += shard.bytes;
    }
  }
  report_.duplicates_across_splits = count_duplicates(content_);
  if (report_.duplicates_across_splits > 0) {
    manifest.notes.push_back(std::to_string(report_.duplicates_across_splits) +
                             " samples have the same inputs as a sample of another split");
    say("warning: " + manifest.notes.back());
  }
  if (report_.skipped_damaged > 0)
    manifest.notes.push_back(std::to_string(report_.skipped_damaged) + " damaged files left out");
}

BuildReport Builder::run() {
  const Stopwatch watch;
  check_options(options_);
  OutputFolder output(options_.output, options_.force);
  open_sources(output.path());
  scan();
  assign_splits();
  find_means();
  write(output.path());
  if (splits_[kTrain].record.samples == 0) throw bad_input("no sample is left for the train split");
  describe_classes();
  finish_manifest();
  write_dataset_manifest(report_.manifest, output.path() / "dataset.json");
  sources_.clear();
  output.commit();
  report_.seconds = watch.seconds();
  return std::move(report_);
}

}  // namespace

BuildReport build_dataset(const BuildOptions& options) {
  return Builder(options).run();
}

}  // namespace ddl
