#include "ddl/base/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

namespace ddl {
namespace {

// Code points, not bytes: enough for names in European scripts and for blocks and arrows.
std::size_t cells_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
  }));
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "12", "-1.5", "1,797", "64MiB", "4 min 05 s"; not "3x32x32", "10.0.0.1" or "2026-01-31".
bool is_number(std::string_view cell) {
  if (!cell.empty() && (cell.front() == '-' || cell.front() == '+')) cell.remove_prefix(1);
  if (cell.empty() || !is_digit(cell.front())) return false;
  std::size_t i = 0;
  int points = 0;
  while (i < cell.size() && (is_digit(cell[i]) || cell[i] == ',' || cell[i] == '.')) {
    if (cell[i++] == '.') ++points;
  }
  if (points > 1) return false;
  if (i + 1 < cell.size() && cell[i] == 'e') {  // 1e-05
    ++i;
    if (cell[i] == '-' || cell[i] == '+') ++i;
    while (i < cell.size() && is_digit(cell[i])) ++i;
  }
  const std::string_view unit = cell.substr(i);
  return unit.empty() || unit.front() == ' ' || std::none_of(unit.begin(), unit.end(), [](char c) {
           return is_digit(c) || c == '-' || c == ':';
         });
}

}  // namespace

Table::Table(std::vector<std::string> headings) : headings_(std::move(headings)) {}

void Table::add_row(std::vector<std::string> cells) {
  cells.resize(headings_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  const std::size_t columns = headings_.size();
  std::vector<std::size_t> widths(columns);
  std::vector<bool> right(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    widths[c] = cells_of(headings_[c]);
    bool any_number = false, any_other = false;
    for (const auto& row : rows_) {
      widths[c] = std::max(widths[c], cells_of(row[c]));
      // "-" stands for "no figure".
      if (is_number(row[c])) {
        any_number = true;
      } else if (!row[c].empty() && row[c] != "-") {
        any_other = true;
      }
    }
    right[c] = any_number && !any_other;
  }
  std::string text;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t c = 0; c < columns; ++c) {
      if (c > 0) line += "  ";
      const std::string padding(widths[c] - cells_of(cells[c]), ' ');
      line += right[c] ? padding + cells[c] : cells[c] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line(headings_);
  for (const auto& row : rows_) add_line(row);
  return text;
}

std::string bar(double fraction, int width) {
  static constexpr std::array<std::string_view, 8> kEighths = {"",  "▏", "▎", "▍",
                                                               "▌", "▋", "▊", "▉"};
  width = std::max(width, 0);
  // The comparison is false for NaN, which shows as empty.
  const double filled = fraction > 0 ? std::min(fraction, 1.0) : 0.0;
  const int eighths = static_cast<int>(std::lround(filled * width * 8));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kEighths[static_cast<std::size_t>(eighths % 8)];
  const int cells = (eighths + 7) / 8;
  text.append(static_cast<std::size_t>(width - cells), ' ');
  return text;
}

}  // namespace ddl
