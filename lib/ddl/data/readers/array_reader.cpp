// IDX and .npy: data, then labels.
//
// Data of one sample: [F] is numeric float32; [H,W] an image of one channel; [C,H,W] an image
// (read as [H,W,C] when only the last axis looks like channels). uint8 images stay uint8,
// everything else becomes float32. Labels: [N] or [N,1]; whole numbers are classes, or numbers to
// predict with --regression.
#include "ddl/base/error.h"
#include "ddl/data/readers/array.h"
#include "ddl/data/readers/reader.h"
#include "ddl/data/readers/table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace ddl {
namespace {

constexpr std::int64_t kLabelBlock = 65536;
constexpr std::size_t kMaximumClasses = 1'000'000;

std::string label_text(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e15)
    return std::to_string(static_cast<std::int64_t>(value));
  return std::to_string(value);
}

class ArrayReader : public SourceReader {
 public:
  ArrayReader(const SourceSpec& source, const ReaderContext& context)
      : options_(context.options),
        data_(source.paths.at(0), context.scratch),
        labels_(source.paths.at(1), context.scratch) {}
  SourceSummary scan(const SourceSchema* train) override;
  bool read(std::int64_t block_samples, SampleBlock& block) override;
  void rewind() override { given_ = 0; }

 private:
  Field data_field(std::vector<std::string>& lines);
  void scan_classes(SourceSummary& summary, const SourceSchema* train);
  void store_data(const std::vector<double>& rows, std::int64_t count,
                  std::vector<std::byte>& out) const;

  const BuildOptions& options_;
  ArrayFile data_, labels_;
  SourceSchema schema_;
  bool channels_last_ = false;
  std::map<double, std::int64_t> classes_;  // label value -> class
  std::int64_t given_ = 0;
};

Field ArrayReader::data_field(std::vector<std::string>& lines) {
  Field field = plain_field("x", FieldKind::numeric, DType::f32);
  field.shape.assign(data_.header().shape.begin() + 1, data_.header().shape.end());
  if (field.shape.empty()) field.shape = {1};
  if (!options_.shape.empty()) {
    if (element_count(options_.shape) != element_count(field.shape))
      throw bad_input("--shape " + shape_text(options_.shape) + " does not fit samples of " +
                      shape_text(field.shape))
          .with_file(data_.path().string());
    field.shape = options_.shape;
  }
  if (field.shape.size() == 2) field.shape.insert(field.shape.begin(), 1);
  if (field.shape.size() == 3) {
    field.kind = FieldKind::image;
    if (data_.header().type == "uint8") field.dtype = DType::u8;
    const auto like_channels = [](std::int64_t n) { return n == 1 || n == 3 || n == 4; };
    channels_last_ =
        options_.shape.empty() && like_channels(field.shape[2]) && !like_channels(field.shape[0]);
    if (channels_last_) {
      lines.push_back("samples of " + shape_text(field.shape) +
                      " are read as height x width x channels");
      field.shape = {field.shape[2], field.shape[0], field.shape[1]};
    }
  } else if (field.shape.size() != 1) {
    throw bad_input("samples of " + shape_text(field.shape) + " are neither rows nor images",
                    "--shape CxHxW says how to see them")
        .with_file(data_.path().string());
  }
  return field;
}

void ArrayReader::scan_classes(SourceSummary& summary, const SourceSchema* train) {
  std::map<double, std::int32_t> seen;
  std::vector<double> values;
  for (std::int64_t first = 0; first < labels_.rows(); first += kLabelBlock) {
    labels_.read_rows(first, std::min(kLabelBlock, labels_.rows() - first), values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != std::floor(values[i]) || !std::isfinite(values[i]))
        throw bad_input("sample " + std::to_string(first + static_cast<std::int64_t>(i)) +
                            " has label " + label_text(values[i]) + ", which is not a whole number",
                        "say --regression when labels are numbers to predict")
            .with_file(labels_.path().string());
      summary.labels.push_back(
          seen.try_emplace(values[i], static_cast<std::int32_t>(seen.size())).first->second);
      if (seen.size() > kMaximumClasses)
        throw bad_input("has over a million different labels", "say --regression")
            .with_file(labels_.path().string());
    }
  }
  std::vector<std::string>& classes = summary.schema.classes;
  if (train != nullptr)
    classes = train->classes;
  else
    for (const auto& [value, order] : seen) classes.push_back(label_text(value));
  std::vector<std::int32_t> mapped(seen.size());
  for (const auto& [value, order] : seen) {
    const auto found = std::find(classes.begin(), classes.end(), label_text(value));
    if (found == classes.end())
      throw bad_input("class '" + label_text(value) + "' is not a class of the train data",
                      "its classes were fixed by the train source")
          .with_file(labels_.path().string());
    classes_[value] = found - classes.begin();
    mapped[static_cast<std::size_t>(order)] = static_cast<std::int32_t>(classes_[value]);
  }
  for (std::int32_t& label : summary.labels) label = mapped[static_cast<std::size_t>(label)];
}

SourceSummary ArrayReader::scan(const SourceSchema* train) {
  SourceSummary summary;
  if (data_.rows() != labels_.rows() || (labels_.row_values() != 1 && !options_.regression))
    throw bad_input("holds labels of shape " + shape_text(labels_.header().shape) + ", but " +
                        data_.path().filename().string() + " holds " +
                        std::to_string(data_.rows()) + " samples",
                    "give one label per sample")
        .with_file(labels_.path().string());
  SourceSchema& schema = summary.schema;
  schema.fields.push_back(data_field(summary.lines));
  if (options_.regression) {
    schema.task = LearningTask::regression;
    Shape shape;
    if (labels_.row_values() > 1) shape = {labels_.row_values()};
    schema.fields.push_back(plain_field("y", FieldKind::target, DType::f32, shape));
  } else {
    scan_classes(summary, train);
    schema.fields.push_back(plain_field("y", FieldKind::label, DType::i64));
  }
  if (train != nullptr && train->fields != schema.fields)
    throw bad_input("samples of " + shape_text(data_.header().shape) + " " + data_.header().type +
                    " differ from the train data's " + shape_text(train->fields[0].shape) + " " +
                    std::string(dtype_name(train->fields[0].dtype)))
        .with_file(data_.path().string());
  schema_ = schema;
  summary.samples = data_.rows();
  summary.bytes = data_.stored_bytes() + labels_.stored_bytes();
  return summary;
}

void ArrayReader::store_data(const std::vector<double>& rows, std::int64_t count,
                             std::vector<std::byte>& out) const {
  const Field& field = schema_.fields[0];
  const std::size_t values = rows.size() / static_cast<std::size_t>(count);
  const std::size_t channels = channels_last_ ? static_cast<std::size_t>(field.shape[0]) : 1;
  const std::size_t pixels = values / channels;
  out.resize(rows.size() * dtype_bytes(field.dtype));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t sample = i / values, place = i % values;
    const double value =
        rows[sample * values + (channels > 1 ? place % pixels * channels + place / pixels : place)];
    if (field.dtype == DType::u8) {
      out[i] = static_cast<std::byte>(static_cast<std::uint8_t>(value));
      continue;
    }
    const auto number = static_cast<float>(value);
    if (!std::isfinite(number))
      throw bad_input("sample " + std::to_string(given_ + static_cast<std::int64_t>(sample)) +
                          " holds a value that is not a finite float32",
                      "clean the array first")
          .with_file(data_.path().string());
    std::memcpy(out.data() + i * sizeof number, &number, sizeof number);
  }
}

bool ArrayReader::read(std::int64_t block_samples, SampleBlock& block) {
  block = {};
  block.first = given_;
  block.count = std::min(block_samples, data_.rows() - given_);
  block.values.resize(2);
  if (block.count == 0) return false;
  std::vector<double> rows;
  data_.read_rows(given_, block.count, rows);
  store_data(rows, block.count, block.values[0]);
  labels_.read_rows(given_, block.count, rows);
  std::vector<std::byte>& out = block.values[1];
  for (const double value : rows) {
    const std::size_t place = out.size();
    if (options_.regression) {
      const auto number = static_cast<float>(value);
      if (!std::isfinite(number))
        throw bad_input("holds a target that is not a finite float32")
            .with_file(labels_.path().string());
      out.resize(place + sizeof number);
      std::memcpy(out.data() + place, &number, sizeof number);
    } else {
      const std::int64_t label = classes_.at(value);
      out.resize(place + sizeof label);
      std::memcpy(out.data() + place, &label, sizeof label);
    }
  }
  given_ += block.count;
  return true;
}

}  // namespace

std::unique_ptr<SourceReader> make_array_reader(const SourceSpec& source,
                                                const ReaderContext& context) {
  return std::make_unique<ArrayReader>(source, context);
}

}  // namespace ddl
