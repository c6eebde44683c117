// Tables with one sample a row: what CSV and ARFF share. Columns become
//   x  numeric float32 [F] (or an image of --shape: uint8 when all values are whole and in 0..255)
//   c  category int32 [K]: text columns, and those the user names
//   y  label int64 [] (class index) or, with --regression, target float32 []
// A missing number is given as NaN (the builder fills in the column's train mean); a missing
// category is the category ""; a missing label is an error. nan, inf and numbers beyond float32 are
// refused unless --missing lists them. Number parsing never depends on the locale.
#pragma once

#include "ddl/data/readers/reader.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

struct TableRow {
  std::vector<std::string> cells;  // "": missing
  std::int64_t line = 0;           // where it begins
};

struct TableColumn {
  enum class Declared { unknown, numeric, nominal, text };
  std::string name;
  Declared declared = Declared::unknown;
  std::vector<std::string> values;  // of a nominal column
};

// Rows of a file, in order.
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual const std::vector<TableColumn>& columns() = 0;
  virtual bool next(TableRow& row) = 0;
  virtual void rewind() = 0;  // to the first row
  virtual std::uint64_t stored_bytes() const = 0;
  virtual const std::filesystem::path& path() const = 0;
  // The label column when the user names none; -1: there is no custom, the user must say.
  virtual int usual_label() { return -1; }
  virtual std::vector<std::string> lines() const { return {}; }
};

std::unique_ptr<SourceReader> make_table_reader(std::unique_ptr<RowSource> rows,
                                                const ReaderContext& context);

// Whole-text number: number, or not finite in float32 (nan, inf, 1e400), or no number at all.
enum class NumberKind { number, not_finite, text };
NumberKind parse_number(std::string_view text, double& value);

// Sorts labels by value when all are numbers, else by bytes; equal values by bytes.
void sort_labels(std::vector<std::string>& labels);

}  // namespace ddl
