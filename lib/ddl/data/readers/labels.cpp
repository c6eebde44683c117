#include "ddl/data/readers/table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace ddl {

NumberKind parse_number(std::string_view text, double& value) {
  if (text.starts_with('+') && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::invalid_argument || end != text.data() + text.size())
    return NumberKind::text;
  if (error == std::errc::result_out_of_range) {
    // Too small is zero; too large has no value.
    if (text.find("e-") == std::string_view::npos && text.find("E-") == std::string_view::npos)
      return NumberKind::not_finite;
    value = 0;
  }
  if (!std::isfinite(value) ||
      std::abs(value) > static_cast<double>(std::numeric_limits<float>::max()))
    return NumberKind::not_finite;
  return NumberKind::number;
}

void sort_labels(std::vector<std::string>& labels) {
  std::vector<std::pair<double, std::string>> keyed;
  for (std::string& label : labels) {
    double value = 0;
    if (parse_number(label, value) != NumberKind::number) {
      std::sort(labels.begin(), labels.end());
      return;
    }
    keyed.emplace_back(value, label);
  }
  std::sort(keyed.begin(), keyed.end());
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = keyed[i].second;
}

}  // namespace ddl
