// ARFF: declared columns, then comma-separated rows. Nominal columns become categories in their
// declared order; '?' is missing; strings become categories by content. Sparse rows, relational
// attributes and weights are refused by name.
#include "ddl/base/error.h"
#include "ddl/data/readers/source_file.h"
#include "ddl/data/readers/table.h"

#include <algorithm>
#include <cctype>

namespace ddl {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

struct Token {
  std::string text;
  bool quoted = false;
};

// Takes one word off the front of `text`: quoted, or up to one of `stops`. False: quote not closed.
bool take_word(std::string_view& text, std::string_view stops, Token& out) {
  out = {};
  text = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  if (!text.empty() && (text.front() == '\'' || text.front() == '"')) {
    const char quote = text.front();
    out.quoted = true;
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) {
        out.text += text[++i];
      } else if (text[i] == quote) {
        text.remove_prefix(i + 1);
        return true;
      } else {
        out.text += text[i];
      }
    }
    return false;
  }
  const std::size_t end = std::min(text.find_first_of(stops), text.size());
  out.text = std::string(trimmed(text.substr(0, end)));
  text.remove_prefix(end);
  return true;
}

class ArffRows : public RowSource {
 public:
  ArffRows(const SourceSpec& source, const ReaderContext& context)
      : regression_(context.options.regression),
        file_(source.paths.at(0), context.scratch),
        text_(file_) {}

  const std::vector<TableColumn>& columns() override {
    if (columns_.empty()) rewind();
    return columns_;
  }
  bool next(TableRow& row) override;
  void rewind() override;
  std::uint64_t stored_bytes() const override { return file_.stored_bytes(); }
  const std::filesystem::path& path() const override { return file_.path(); }
  // By custom the last attribute is the class.
  int usual_label() override {
    const bool fits = !columns().empty() &&
                      (columns_.back().declared == TableColumn::Declared::numeric) == regression_;
    return fits ? static_cast<int>(columns_.size()) - 1 : -1;
  }

 private:
  Error error(const std::string& what, std::string remedy = {}) const {
    Error out =
        bad_input("line " + std::to_string(text_.number()) + ": " + what, std::move(remedy));
    out.with_file(file_.path().string());
    return out;
  }
  bool next_line(std::string_view& line);
  void declare(std::string_view text);
  void declare_nominal(std::string_view text, TableColumn& column) const;

  bool regression_;
  SourceFile file_;
  LineSource text_;
  std::vector<TableColumn> columns_;
};

// The next line that is neither blank nor a comment, trimmed.
bool ArffRows::next_line(std::string_view& line) {
  while (text_.next(line)) {
    if (text_.number() == 1) line = without_byte_order_mark(line, file_.path());
    line = trimmed(line);
    if (!line.empty() && line.front() != '%') return true;
  }
  return false;
}

void ArffRows::declare_nominal(std::string_view text, TableColumn& column) const {
  text.remove_prefix(1);
  column.declared = TableColumn::Declared::nominal;
  for (;;) {
    Token value;
    if (!take_word(text, ",}", value)) throw error("a quote is never closed");
    column.values.push_back(std::move(value.text));
    text = trimmed(text);
    if (text.empty()) throw error("the list of values is never closed", "expected }");
    const char after = text.front();
    text.remove_prefix(1);
    if (after == '}') return;
    if (after != ',') throw error("a comma is missing in the list of values");
  }
}

void ArffRows::declare(std::string_view text) {
  TableColumn column;
  Token name;
  if (!take_word(text, " \t{", name) || name.text.empty()) throw error("@attribute has no name");
  column.name = name.text;
  text = trimmed(text);
  const std::string type = lower(text.substr(0, text.find_first_of(" \t{")));
  if (!text.empty() && text.front() == '{')
    declare_nominal(text, column);
  else if (type == "numeric" || type == "real" || type == "integer")
    column.declared = TableColumn::Declared::numeric;
  else if (type == "string" || type == "date")
    column.declared = TableColumn::Declared::text;
  else
    throw error("attribute '" + column.name + "' has type '" + type + "', which is not supported",
                "supported: numeric, real, integer, string, date, {values}");
  columns_.push_back(std::move(column));
}

void ArffRows::rewind() {
  text_.rewind();
  columns_.clear();
  std::string_view line;
  while (next_line(line)) {
    const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
    const std::string word = lower(line.substr(0, end));
    if (word == "@data") return;
    if (word == "@attribute")
      declare(line.substr(end));
    else if (word != "@relation")
      throw error("'" + word + "' was found before @data",
                  "expected @relation, @attribute or @data");
  }
  throw bad_input("has no @data line").with_file(file_.path().string());
}

bool ArffRows::next(TableRow& row) {
  std::string_view line;
  if (!next_line(line)) return false;
  if (line.front() == '{') throw error("sparse rows are not supported", "write the rows in full");
  row.line = text_.number();
  row.cells.clear();
  for (;;) {
    Token cell;
    if (!take_word(line, ",", cell)) throw error("a quote is never closed");
    if (!cell.quoted && cell.text == "?") cell.text.clear();
    const std::size_t column = row.cells.size();
    if (column < columns_.size() && !cell.text.empty()) {
      const TableColumn& declared = columns_[column];
      if (declared.declared == TableColumn::Declared::nominal &&
          std::find(declared.values.begin(), declared.values.end(), cell.text) ==
              declared.values.end())
        throw error("attribute '" + declared.name + "' holds '" + cell.text +
                        "', which is not one of its declared values",
                    "mend the row or the @attribute line");
    }
    row.cells.push_back(std::move(cell.text));
    line = trimmed(line);
    if (line.empty()) return true;
    if (line.front() != ',')
      throw error("a comma is missing after cell " + std::to_string(row.cells.size()));
    line.remove_prefix(1);
  }
}

}  // namespace

std::unique_ptr<SourceReader> make_arff_reader(const SourceSpec& source,
                                               const ReaderContext& context) {
  return make_table_reader(std::make_unique<ArffRows>(source, context), context);
}

}  // namespace ddl
