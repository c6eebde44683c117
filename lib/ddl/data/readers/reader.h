// What every raw format gives: one streaming interface, so that building needs memory for one block
// of samples and a few bytes a sample, never for the data.
//
// A reader is made for one source. scan() is the first pass: it counts, finds fields, classes and
// categories. read() is the second pass: blocks in source order; rewind() starts over.
// A source for a split of its own (--val, test/) is scanned with the schema of the train source:
// classes, categories and vocabulary are reused and anything unknown is refused by name.
//
// To add a format: one file with a subclass, a line in make_reader and one in detect_format.
// Threads: a reader has one owner; it may use the pool it was given.
#pragma once

#include "ddl/artifact/dataset.h"
#include "ddl/base/threads.h"
#include "ddl/data/build.h"
#include "ddl/data/splits.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ddl {

// A field without names or statistics.
inline Field plain_field(std::string name, FieldKind kind, DType dtype, Shape shape = {}) {
  Field field;
  field.name = std::move(name);
  field.kind = kind;
  field.dtype = dtype;
  field.shape = std::move(shape);
  return field;
}

// What the train source fixes for all sources of a data set.
struct SourceSchema {
  std::vector<Field> fields;  // inputs first, then "y"; without normalisation
  std::vector<std::string> classes;
  Tokenizer tokenizer;
  LearningTask task = LearningTask::classification;
};

struct SourceSummary {
  SourceSchema schema;
  std::int64_t samples = 0;
  std::vector<std::int32_t> labels;  // class per sample; empty when there are no classes
  // Text cuts itself in order: the split (0 train, 1 val, 2 test) of each sample; else empty.
  std::vector<std::int8_t> splits;
  bool has_missing = false;  // numeric values that read() gives as NaN
  std::uint64_t bytes = 0;   // of the source
  std::int64_t ignored_files = 0;
  std::vector<std::string> lines;  // what a person should know
};

// Samples [first, first + count) of a source; values[f] holds count rows of schema.fields[f].
struct SampleBlock {
  std::int64_t first = 0, count = 0;
  std::vector<std::vector<std::byte>> values;
  std::vector<std::string> damaged;  // per sample: "" or why it is left out (--skip-damaged)
};

// Where a reader gets its options, threads and disk space.
struct ReaderContext {
  const BuildOptions& options;
  ThreadPool& pool;
  std::filesystem::path scratch;  // folder for unpacked gzip files
  SplitFractions fractions;       // to be cut from this source; 0 where a split has its own
};

// One source: a folder, a file, or data then labels.
struct SourceSpec {
  std::string split;  // "" to be cut by fractions, else "train", "val", "test"
  std::vector<std::filesystem::path> paths;
  std::vector<std::string> ignored;  // entries passed over while looking for splits
};

class SourceReader {
 public:
  virtual ~SourceReader() = default;
  virtual SourceSummary scan(const SourceSchema* train) = 0;
  // Fills block with the next samples after the last call (at most block_samples); false at the
  // end.
  virtual bool read(std::int64_t block_samples, SampleBlock& block) = 0;
  virtual void rewind() = 0;
  // Names a sample whatever else is in the source, to key its split; default: its number.
  virtual std::uint64_t sample_key(std::int64_t sample) const {
    return static_cast<std::uint64_t>(sample);
  }
};

// Decides by content; sets `why` ("starts with the IDX magic number"). Throws bad_input naming the
// formats when nothing fits.
std::string detect_format(const std::filesystem::path& path, std::string& why);

// The sources of a data set: sub-folders train/ val/ test/ or paired files become splits of their
// own, options.split_sources too.
std::vector<SourceSpec> find_sources(const std::string& format, const BuildOptions& options);

std::unique_ptr<SourceReader> make_reader(const std::string& format, const SourceSpec& source,
                                          const ReaderContext& context);

// One per format.
std::unique_ptr<SourceReader> make_image_folder_reader(const SourceSpec&, const ReaderContext&);
std::unique_ptr<SourceReader> make_array_reader(const SourceSpec&,
                                                const ReaderContext&);  // idx and npy
std::unique_ptr<SourceReader> make_csv_reader(const SourceSpec&, const ReaderContext&);
std::unique_ptr<SourceReader> make_arff_reader(const SourceSpec&, const ReaderContext&);
std::unique_ptr<SourceReader> make_text_reader(const SourceSpec&, const ReaderContext&);

}  // namespace ddl
