#include "ddl/train/predictions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace ddl {
namespace {

// Shortest text that reads back as the same value, whatever the locale.
std::string number(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

std::string rounded(double value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, 6).ptr;
  return {text, end};
}

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}

std::string class_name(const DatasetManifest& manifest, std::size_t index) {
  return index < manifest.classes.size() ? quoted(manifest.classes[index]) : std::to_string(index);
}

template <typename T>
T label_at(const Batch& batch, std::size_t index) {
  T value;
  std::memcpy(&value, batch.labels.data() + index * sizeof(T), sizeof(T));
  return value;
}

std::string class_row(const DatasetManifest& manifest, const Batch& batch, std::size_t sample,
                      std::span<const float> logits) {
  const auto best =
      static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  double sum = 0;
  for (const float value : logits)
    sum += std::exp(static_cast<double>(value) - static_cast<double>(logits[best]));
  return class_name(manifest, static_cast<std::size_t>(label_at<std::int64_t>(batch, sample))) +
         "," + class_name(manifest, best) + "," + rounded(1.0 / sum);
}

std::string token_row(const Batch& batch, std::size_t sample, std::size_t rows,
                      std::span<const float> losses, std::span<const float> logits) {
  const std::size_t columns = logits.size() / rows;
  double loss = 0;
  std::size_t correct = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const float* values = logits.data() + r * columns;
    loss += static_cast<double>(losses[r]);
    correct += std::max_element(values, values + columns) - values ==
                       label_at<std::int64_t>(batch, sample * rows + r)
                   ? 1
                   : 0;
  }
  const auto count = static_cast<double>(rows);
  return rounded(loss / count) + "," + rounded(static_cast<double>(correct) / count);
}

std::string target_row(LossKind loss, const Batch& batch, std::size_t sample,
                       std::span<const float> logits) {
  std::string out;
  for (std::size_t k = 0; k < logits.size(); ++k)
    out += (k == 0 ? "" : ",") +
           number(static_cast<double>(label_at<float>(batch, sample * logits.size() + k)));
  for (const float value : logits)
    out += "," + (loss == LossKind::squared_error
                      ? number(static_cast<double>(value))
                      : rounded(1.0 / (1.0 + std::exp(-static_cast<double>(value)))));
  return out;
}

}  // namespace

std::string prediction_header(LossKind loss, std::int64_t columns) {
  if (loss == LossKind::softmax_cross_entropy) return "sample,label,predicted,probability\n";
  if (loss == LossKind::next_token) return "sample,loss,accuracy\n";
  const std::string result = loss == LossKind::squared_error ? "predicted" : "probability";
  if (columns == 1) return "sample,target," + result + "\n";
  std::string out = "sample";
  for (const std::string& what : {std::string("target"), result})
    for (std::int64_t k = 0; k < columns; ++k) out += "," + what + "_" + std::to_string(k);
  return out + "\n";
}

void add_predictions(LossKind loss, const DatasetManifest& manifest, const Batch& batch,
                     std::span<const float> loss_rows, std::span<const float> logits,
                     std::map<std::int64_t, std::string>& rows) {
  const std::size_t samples = batch.sample_ids.size();
  const std::size_t width = logits.size() / samples;
  const std::size_t rows_per_sample = loss_rows.size() / samples;
  for (std::size_t i = 0; i < samples; ++i) {
    const auto mine = logits.subspan(i * width, width);
    std::string row = std::to_string(batch.sample_ids[i]) + ",";
    if (loss == LossKind::softmax_cross_entropy) {
      row += class_row(manifest, batch, i, mine);
    } else if (loss == LossKind::next_token) {
      row += token_row(batch, i, rows_per_sample,
                       loss_rows.subspan(i * rows_per_sample, rows_per_sample), mine);
    } else {
      row += target_row(loss, batch, i, mine);
    }
    rows[batch.sample_ids[i]] = row + "\n";
  }
}

}  // namespace ddl
