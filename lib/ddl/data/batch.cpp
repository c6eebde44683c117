#include "ddl/data/batch.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <cstring>

namespace ddl {
namespace {

bool is_input(FieldKind kind) {
  return kind == FieldKind::image || kind == FieldKind::numeric || kind == FieldKind::category ||
         kind == FieldKind::tokens;
}

template <typename T>
std::span<T> typed(std::vector<std::byte>& bytes, std::size_t count) {
  bytes.resize(count * sizeof(T));
  return {reinterpret_cast<T*>(bytes.data()), count};
}

// One stored value, whatever its type; `bytes` need not be aligned.
template <typename T>
T load(const std::byte* bytes, std::size_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

std::int64_t load_integer(DType dtype, const std::byte* bytes, std::size_t index) {
  switch (dtype) {
    case DType::u8:
      return load<std::uint8_t>(bytes, index);
    case DType::u16:
      return load<std::uint16_t>(bytes, index);
    case DType::i32:
      return load<std::int32_t>(bytes, index);
    case DType::i64:
      return load<std::int64_t>(bytes, index);
    default:
      throw failure("a field of codes has type " + std::string(dtype_name(dtype)));
  }
}

void check_code(std::int64_t code, std::int64_t limit, const std::string& field,
                std::int64_t sample) {
  if (code < 0 || code >= limit)
    throw failure("field " + field + " of sample " + std::to_string(sample) + " holds code " +
                      std::to_string(code) + ", outside of 0.." + std::to_string(limit - 1),
                  "build the data set again");
}

// Values per row that share one mean and scale: pixels of a channel, or one for columns.
std::size_t values_per_statistic(const Field& field) {
  if (field.kind != FieldKind::image || field.shape.size() != 3) return 1;
  return static_cast<std::size_t>(field.shape[1] * field.shape[2]);
}

// (value - mean) * scale, or value / divisor where there are no statistics: one rounding each.
template <typename T>
void convert_as(const Field& field, const std::vector<std::byte>& raw, std::size_t rows,
                std::span<float> out) {
  const Normalisation& norm = field.normalisation;
  const auto values = static_cast<std::size_t>(element_count(field.shape));
  if (norm.mean.empty()) {
    const bool pixels = field.kind == FieldKind::image && field.dtype == DType::u8;
    const float divisor = pixels ? 255.0F : 1.0F;
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<float>(load<T>(raw.data(), i)) / divisor;
    return;
  }
  const std::size_t run = values_per_statistic(field);
  if (norm.mean.size() * run != values || norm.scale.size() != norm.mean.size())
    throw failure("field " + field.name + " has " + std::to_string(norm.mean.size()) +
                  " means for shape " + shape_text(field.shape));
  std::size_t i = 0;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t s = 0; s < norm.mean.size(); ++s) {
      const auto mean = static_cast<float>(norm.mean[s]), scale = static_cast<float>(norm.scale[s]);
      for (const std::size_t end = i + run; i < end; ++i)
        out[i] = (static_cast<float>(load<T>(raw.data(), i)) - mean) * scale;
    }
}

void convert_numbers(const Field& field, const std::vector<std::byte>& raw, std::size_t rows,
                     std::span<float> out) {
  switch (field.dtype) {
    case DType::u8:
      return convert_as<std::uint8_t>(field, raw, rows, out);
    case DType::f32:
      return convert_as<float>(field, raw, rows, out);
    default:
      throw failure("field " + field.name + " has type " + std::string(dtype_name(field.dtype)) +
                    ", expected uint8 or float32");
  }
}

void convert_categories(const Field& field, const std::vector<std::byte>& raw,
                        std::span<const std::int64_t> ids, std::span<std::int32_t> out) {
  const auto columns = static_cast<std::size_t>(element_count(field.shape));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t code = load_integer(field.dtype, raw.data(), i);
    const std::size_t column = i % columns;
    if (column < field.categories.size())
      check_code(code, static_cast<std::int64_t>(field.categories[column].size()), field.name,
                 ids[i / columns]);
    out[i] = static_cast<std::int32_t>(code);
  }
}

}  // namespace

BatchReader::BatchReader(const Dataset& dataset, std::string split)
    : dataset_(dataset), split_(std::move(split)) {
  const DatasetManifest& manifest = dataset.manifest();
  if (manifest.find_split(split_) == nullptr)
    throw bad_input("the data set has no split '" + split_ + "'", "ddl-shard info lists its splits")
        .with_file(dataset.folder().string());
  for (const Field& field : manifest.fields) {
    if (!is_input(field.kind)) continue;
    if (field.kind == FieldKind::tokens) {
      if (field.shape.size() != 1 || field.shape[0] < 2)
        throw bad_input("field " + field.name + " must hold at least two tokens a sample")
            .with_file(dataset.folder().string());
      rows_per_sample_ = field.shape[0] - 1;
      inputs_.push_back({field.name, DType::i32, {rows_per_sample_}});
    } else {
      const bool codes = field.kind == FieldKind::category;
      inputs_.push_back({field.name, codes ? DType::i32 : DType::f32, field.shape});
    }
  }
  if (const Field* target = manifest.find_field(FieldKind::target))
    label_columns_ = element_count(target->shape);
}

bool BatchReader::labels_are_classes() const {
  return dataset_.manifest().task != LearningTask::regression;
}

void BatchReader::set_class_weights(std::vector<double> weights) {
  const std::size_t classes = dataset_.manifest().classes.size();
  if (!weights.empty() && weights.size() != classes)
    throw bad_input(std::to_string(weights.size()) + " class weights were given for " +
                    std::to_string(classes) + " classes");
  class_weights_ = std::move(weights);
}

namespace {

// Tokens of context + 1 become inputs and, shifted by one, labels.
void split_tokens(const Field& field, const std::vector<std::byte>& raw, std::int64_t limit,
                  std::span<const std::int64_t> ids, std::span<std::int32_t> tokens,
                  std::span<std::int64_t> next) {
  const auto width = static_cast<std::size_t>(field.shape[0]), context = width - 1;
  for (std::size_t i = 0; i < ids.size() * width; ++i) {
    const std::size_t sample = i / width, place = i % width;
    const std::int64_t token = load_integer(field.dtype, raw.data(), i);
    check_code(token, limit, field.name, ids[sample]);
    if (place < context) tokens[sample * context + place] = static_cast<std::int32_t>(token);
    if (place > 0) next[sample * context + place - 1] = token;
  }
}

void take_labels(const Field& field, const std::vector<std::byte>& raw, std::int64_t classes,
                 const std::vector<double>& class_weights, Batch& batch) {
  const std::span<std::int64_t> labels = typed<std::int64_t>(batch.labels, batch.sample_ids.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = load_integer(field.dtype, raw.data(), i);
    check_code(labels[i], classes, field.name, batch.sample_ids[i]);
    if (!class_weights.empty())
      batch.weights[i] *= static_cast<float>(class_weights[static_cast<std::size_t>(labels[i])]);
  }
}

}  // namespace

void BatchReader::read(std::span<const std::int64_t> sample_ids, Batch& batch) const {
  const DatasetManifest& manifest = dataset_.manifest();
  const std::size_t samples = sample_ids.size();
  const auto rows = static_cast<std::size_t>(rows_per_sample_);
  std::vector<std::byte> raw;
  batch.sample_ids.assign(sample_ids.begin(), sample_ids.end());
  batch.values.resize(inputs_.size());
  batch.weights.assign(samples * rows, 1.0F);
  std::size_t input = 0;
  for (const Field& field : manifest.fields) {
    const std::size_t count = samples * static_cast<std::size_t>(element_count(field.shape));
    raw.resize(count * dtype_bytes(field.dtype));
    dataset_.read(split_, field.name, sample_ids, raw);
    switch (field.kind) {
      case FieldKind::image:
      case FieldKind::numeric:
        convert_numbers(field, raw, samples, typed<float>(batch.values[input++], count));
        break;
      case FieldKind::category:
        convert_categories(field, raw, sample_ids,
                           typed<std::int32_t>(batch.values[input++], count));
        break;
      case FieldKind::tokens: {
        const auto vocabulary = static_cast<std::int64_t>(manifest.tokenizer.vocabulary.size());
        split_tokens(field, raw, vocabulary == 0 ? 256 : vocabulary, sample_ids,
                     typed<std::int32_t>(batch.values[input++], samples * rows),
                     typed<std::int64_t>(batch.labels, samples * rows));
        break;
      }
      case FieldKind::label:
        take_labels(field, raw, static_cast<std::int64_t>(manifest.classes.size()), class_weights_,
                    batch);
        break;
      case FieldKind::target:
        batch.labels = raw;
        break;
      case FieldKind::weight:
        for (std::size_t i = 0; i < batch.weights.size(); ++i)
          batch.weights[i] *= load<float>(raw.data(), i / rows);
        break;
    }
  }
  batch.total_weight = 0;
  for (const float weight : batch.weights) batch.total_weight += static_cast<double>(weight);
}

}  // namespace ddl
