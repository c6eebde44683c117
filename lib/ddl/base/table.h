// Plain text tables and bars for reports on stdout.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddl {

// Columns padded to their widest cell, two blanks apart; numbers are aligned right. UTF-8 aware.
class Table {
 public:
  explicit Table(std::vector<std::string> headings);
  void add_row(std::vector<std::string> cells);
  std::string text() const;  // ends with a newline

 private:
  std::vector<std::string> headings_;
  std::vector<std::vector<std::string>> rows_;
};

// A bar of `width` cells filled to fraction in [0, 1], with eighth blocks.
std::string bar(double fraction, int width);

}  // namespace ddl
