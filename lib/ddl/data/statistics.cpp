#include "ddl/data/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ddl {

FieldStatistics::FieldStatistics(const Field& field) : dtype_(field.dtype) {
  const auto values = static_cast<std::size_t>(element_count(field.shape));
  if (field.kind == FieldKind::image && field.shape.size() == 3)
    run_ = static_cast<std::size_t>(field.shape[1] * field.shape[2]);
  sums_.resize(values / std::max<std::size_t>(run_, 1));
}

void FieldStatistics::add(std::span<const std::byte> row) {
  const std::byte* bytes = row.data();
  for (Sums& sums : sums_) {
    if (dtype_ == DType::u8) {
      std::uint64_t total = 0, squares = 0;
      for (std::size_t i = 0; i < run_; ++i) {
        const auto value = std::to_integer<std::uint64_t>(bytes[i]);
        total += value;
        squares += value * value;
      }
      sums.total += total;
      sums.squares += squares;
      sums.count += static_cast<double>(run_);
      bytes += run_;
      continue;
    }
    for (std::size_t i = 0; i < run_; ++i, bytes += sizeof(float)) {
      float stored = 0;
      std::memcpy(&stored, bytes, sizeof stored);
      if (std::isnan(stored)) continue;
      const double value = stored;
      const double step = value - sums.mean;
      sums.count += 1;
      sums.mean += step / sums.count;
      sums.centred_squares += step * (value - sums.mean);
      sums.largest = std::max(sums.largest, std::abs(value));
    }
  }
}

double FieldStatistics::mean(std::size_t column) const {
  const Sums& sums = sums_[column];
  if (sums.count == 0) return 0;
  return dtype_ == DType::u8 ? static_cast<double>(sums.total) / sums.count : sums.mean;
}

double FieldStatistics::deviation(const Sums& sums) const {
  if (sums.count == 0) return 0;
  if (dtype_ != DType::u8) return std::sqrt(sums.centred_squares / sums.count);
  const double mean_value = static_cast<double>(sums.total) / sums.count;
  return std::sqrt(
      std::max(0.0, static_cast<double>(sums.squares) / sums.count - mean_value * mean_value));
}

bool FieldStatistics::is_constant(const Sums& sums) const {
  // float32 holds about 7 digits: a spread below that is rounding, whatever the column's unit.
  if (dtype_ != DType::u8) return deviation(sums) <= 1e-6 * sums.largest;
  const double mean_value = sums.count == 0 ? 0 : static_cast<double>(sums.total) / sums.count;
  return deviation(sums) <= 1e-6 * mean_value;
}

Normalisation FieldStatistics::normalisation() const {
  Normalisation out;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    out.mean.push_back(mean(i));
    out.scale.push_back(is_constant(sums_[i]) ? 1.0 : 1.0 / deviation(sums_[i]));
  }
  return out;
}

std::vector<std::size_t> FieldStatistics::constant() const {
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i < sums_.size(); ++i)
    if (is_constant(sums_[i])) out.push_back(i);
  return out;
}

}  // namespace ddl
