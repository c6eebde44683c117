// CSV by libcsv: RFC 4180 quotes, newlines inside quotes, CR LF, blanks around cells trimmed, blank
// lines skipped.
#include "ddl/base/error.h"
#include "ddl/data/readers/source_file.h"
#include "ddl/data/readers/table.h"

#include <algorithm>
#include <deque>

#include <csv.h>

namespace ddl {
namespace {

constexpr std::size_t kMaximumRowBytes = std::size_t{64} << 20;

// Rows out of lines. Knows on which line each row began.
class CsvParser {
 public:
  explicit CsvParser(char delimiter) {
    if (csv_init(&parser_, CSV_STRICT | CSV_STRICT_FINI) != 0) throw failure("libcsv: no memory");
    csv_set_delim(&parser_, static_cast<unsigned char>(delimiter));
  }
  CsvParser(const CsvParser&) = delete;
  CsvParser& operator=(const CsvParser&) = delete;
  ~CsvParser() { csv_free(&parser_); }

  // Feeds one line; rows that end go to `done`. "" or what is wrong with the row.
  std::string feed(std::string_view line, std::int64_t number) {
    if (!row_is_open_) {
      row_line_ = number;
      row_bytes_ = 0;
    }
    row_bytes_ += line.size();
    const std::size_t before = done.size();
    if (csv_parse(&parser_, line.data(), line.size(), on_cell, on_row, this) != line.size())
      return "a quote stands inside an unquoted cell, or text follows a closing quote";
    const bool blank = line.find_first_not_of(" \t\r\n") == std::string_view::npos;
    row_is_open_ = done.size() == before && (row_is_open_ || !blank);
    return row_bytes_ > kMaximumRowBytes ? "the row is longer than 64 MiB; is a quote not closed?"
                                         : "";
  }
  std::string finish() {
    if (csv_fini(&parser_, on_cell, on_row, this) != 0)
      return "the quote that opens in this row is never closed";
    return {};
  }

  std::deque<TableRow> done;
  std::int64_t row_line() const { return row_line_; }

 private:
  static void on_cell(void* text, std::size_t size, void* self) {
    static_cast<CsvParser*>(self)->cells_.emplace_back(static_cast<const char*>(text), size);
  }
  static void on_row(int, void* self) {
    auto& me = *static_cast<CsvParser*>(self);
    me.done.push_back({std::move(me.cells_), me.row_line_});
    me.cells_.clear();
  }

  csv_parser parser_{};
  std::vector<std::string> cells_;
  std::int64_t row_line_ = 1;
  std::size_t row_bytes_ = 0;
  bool row_is_open_ = false;
};

class CsvRows : public RowSource {
 public:
  CsvRows(const SourceSpec& source, const ReaderContext& context)
      : options_(context.options), file_(source.paths.at(0), context.scratch), text_(file_) {}

  const std::vector<TableColumn>& columns() override {
    if (columns_.empty()) rewind();
    return columns_;
  }
  bool next(TableRow& row) override {
    while (parser_->done.empty()) {
      if (!read_line()) return false;
    }
    row = std::move(parser_->done.front());
    parser_->done.pop_front();
    return true;
  }
  void rewind() override;
  std::uint64_t stored_bytes() const override { return file_.stored_bytes(); }
  const std::filesystem::path& path() const override { return file_.path(); }
  std::vector<std::string> lines() const override { return lines_; }

 private:
  // Feeds one line, or the end; false when there is nothing left.
  bool read_line();
  void name_columns(const TableRow& row);
  Error error_at(std::int64_t line, const std::string& what, std::string remedy = {}) const {
    Error out = bad_input("line " + std::to_string(line) + ": " + what, std::move(remedy));
    out.with_file(file_.path().string());
    return out;
  }

  const BuildOptions& options_;
  SourceFile file_;
  LineSource text_;
  std::unique_ptr<CsvParser> parser_;
  bool finished_ = false;
  std::vector<TableColumn> columns_;
  std::vector<std::string> lines_;
};

bool CsvRows::read_line() {
  if (finished_) return false;
  std::string_view line;
  std::string problem;
  if (text_.next(line)) {
    if (text_.number() == 1) line = without_byte_order_mark(line, file_.path());
    if (text_.number() <= options_.skip_lines) return true;
    if (line.find('\0') != std::string_view::npos)
      throw error_at(text_.number(), "holds a NUL byte, so this is not CSV text",
                     "say which format it is: --format");
    problem = parser_->feed(line, text_.number());
  } else {
    finished_ = true;
    problem = parser_->finish();
  }
  if (!problem.empty())
    throw error_at(parser_->row_line(), problem, "mend the quotes, or check --delimiter");
  return true;
}

void CsvRows::name_columns(const TableRow& row) {
  columns_.resize(row.cells.size());
  std::size_t numbers = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::string& cell = row.cells[i];
    double value = 0;
    numbers += parse_number(cell, value) == NumberKind::number ? 1U : 0U;
    columns_[i].name = options_.header && !cell.empty() ? cell : std::to_string(i + 1);
  }
  if (options_.header && numbers == columns_.size())
    lines_.push_back("line " + std::to_string(row.line) +
                     " was taken as the header but holds only numbers; --no-header if it is data");
}

void CsvRows::rewind() {
  text_.rewind();
  parser_ = std::make_unique<CsvParser>(options_.delimiter);
  finished_ = false;
  while (parser_->done.empty() && read_line()) {
  }
  if (parser_->done.empty()) {
    throw bad_input("has no rows", "expected a header line and one sample a row")
        .with_file(file_.path().string());
  }
  if (columns_.empty()) name_columns(parser_->done.front());
  if (options_.header) parser_->done.pop_front();
}

}  // namespace

std::unique_ptr<SourceReader> make_csv_reader(const SourceSpec& source,
                                              const ReaderContext& context) {
  return make_table_reader(std::make_unique<CsvRows>(source, context), context);
}

}  // namespace ddl
