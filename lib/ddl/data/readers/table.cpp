#include "ddl/data/readers/table.h"

#include "ddl/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_map>

namespace ddl {
namespace {

constexpr std::size_t kMaximumDistinct = 1'000'000;

std::string count_text(std::size_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string listed(const std::vector<TableColumn>& columns) {
  std::string out;
  for (std::size_t i = 0; i < columns.size() && i < 12; ++i)
    out += (i > 0 ? ", " : "") + columns[i].name;
  return columns.size() > 12 ? out + ", …" : out;
}

// Texts of a column, numbered as they come.
class Distinct {
 public:
  std::int32_t number(const std::string& text) {
    const auto [place, fresh] =
        numbers_.try_emplace(text, static_cast<std::int32_t>(texts_.size()));
    if (fresh) texts_.push_back(text);
    return place->second;
  }
  // -1 when unknown.
  std::int32_t find(const std::string& text) const {
    const auto found = numbers_.find(text);
    return found == numbers_.end() ? -1 : found->second;
  }
  std::size_t size() const { return texts_.size(); }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
  std::vector<std::string> texts_;
};

enum class Use { numeric, category, label, target, dropped };

struct Column {
  TableColumn declared;
  Use use = Use::numeric;
  std::int64_t missing = 0;
  std::int64_t first_not_finite_line = 0;  // 0: none
  std::string not_finite_text;
  bool pixels = true;  // so far all values are whole and in 0..255
  Distinct codes;      // of a category or label column: text -> code
};

class TableReader : public SourceReader {
 public:
  TableReader(std::unique_ptr<RowSource> rows, const ReaderContext& context)
      : rows_(std::move(rows)), options_(context.options) {}
  SourceSummary scan(const SourceSchema* train) override;
  bool read(std::int64_t block_samples, SampleBlock& block) override;
  void rewind() override {
    rows_->rewind();
    given_ = 0;
  }

 private:
  Error error(std::string what, std::string remedy = {}) const {
    Error out = bad_input(std::move(what), std::move(remedy));
    out.with_file(rows_->path().string());
    return out;
  }
  Error error_at(std::int64_t line, const std::string& what, std::string remedy = {}) const {
    return error("line " + std::to_string(line) + ": " + what, std::move(remedy));
  }
  std::size_t find_column(const std::string& name, std::string_view option) const;
  void choose_uses();
  void check_columns(const SourceSchema& train) const;
  bool next_row();
  bool is_missing(const std::string& cell) const {
    return cell.empty() || std::find(options_.missing.begin(), options_.missing.end(), cell) !=
                               options_.missing.end();
  }
  void look_at(Column& column, const std::string& cell);
  void first_pass(SourceSummary& summary);
  void collect_categories();
  void set_classes(SourceSummary& summary, const SourceSchema* train);
  void make_fields(SourceSchema& schema) const;
  void take_over(const SourceSchema& train);
  Field numeric_field() const;
  void store_number(const Column& column, const std::string& cell, std::byte* out) const;
  void store_row(SampleBlock& block) const;

  std::unique_ptr<RowSource> rows_;
  const BuildOptions& options_;
  std::vector<Column> columns_;
  std::size_t label_ = 0;
  SourceSchema schema_;
  TableRow row_;
  std::int64_t given_ = 0, samples_ = 0;
};

std::size_t TableReader::find_column(const std::string& name, std::string_view option) const {
  const std::size_t count = columns_.size();
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < count; ++i) {
    if (columns_[i].declared.name != name) continue;
    if (found) throw error("two columns are named '" + name + "'", "name it by its number");
    found = i;
  }
  if (found) return *found;
  if (name == "first") return 0;
  if (name == "last") return count - 1;
  double number = 0;
  if (parse_number(name, number) == NumberKind::number && number >= 1 &&
      number <= static_cast<double>(count) && number == std::floor(number))
    return static_cast<std::size_t>(number) - 1;
  std::vector<TableColumn> declared;
  for (const Column& column : columns_) declared.push_back(column.declared);
  throw error("has no column '" + name + "' (" + std::string(option) + ")",
              "its " + count_text(count, "column") + ": " + listed(declared));
}

void TableReader::choose_uses() {
  columns_.clear();
  for (const TableColumn& declared : rows_->columns()) {
    columns_.emplace_back().declared = declared;
    const bool text = declared.declared == TableColumn::Declared::nominal ||
                      declared.declared == TableColumn::Declared::text;
    if (text) columns_.back().use = Use::category;
  }
  if (columns_.empty()) throw error("has no columns");
  for (const std::string& name : options_.drop)
    columns_[find_column(name, "--drop")].use = Use::dropped;
  for (const std::string& name : options_.categorical)
    columns_[find_column(name, "--categorical")].use = Use::category;
  if (!options_.label.empty()) {
    label_ = find_column(options_.label, "--label");
  } else if (rows_->usual_label() >= 0) {
    label_ = static_cast<std::size_t>(rows_->usual_label());
  } else {
    throw error("which column holds the label is not known",
                "say --label NAME, NUMBER, first or last (and --regression to predict a number); "
                "its columns: " +
                    listed(rows_->columns()));
  }
  if (columns_[label_].use == Use::dropped)
    throw error("the label column '" + columns_[label_].declared.name + "' is also dropped");
  columns_[label_].use = options_.regression ? Use::target : Use::label;
}

bool TableReader::next_row() {
  if (!rows_->next(row_)) return false;
  if (row_.cells.size() != columns_.size())
    throw error_at(row_.line,
                   "has " + count_text(row_.cells.size(), "cell") + ", expected " +
                       std::to_string(columns_.size()),
                   "mend the row, or check --delimiter and --skip-lines");
  for (std::string& cell : row_.cells)
    if (is_missing(cell)) cell.clear();
  return true;
}

// Learns a column's type from one more cell.
void TableReader::look_at(Column& column, const std::string& cell) {
  if (cell.empty()) {
    ++column.missing;
    return;
  }
  if (column.use != Use::numeric && column.use != Use::target) return;
  double value = 0;
  const NumberKind kind = parse_number(cell, value);
  if (kind == NumberKind::text) {
    if (column.use == Use::target || column.declared.declared == TableColumn::Declared::numeric)
      throw error_at(row_.line, "column '" + column.declared.name + "' holds '" + cell +
                                    "', expected a number");
    column.use = Use::category;
  } else if (kind == NumberKind::not_finite && column.first_not_finite_line == 0) {
    column.first_not_finite_line = row_.line;
    column.not_finite_text = cell;
  }
  column.pixels = column.pixels && kind == NumberKind::number && value >= 0 && value <= 255 &&
                  value == std::floor(value);
}

void TableReader::first_pass(SourceSummary& summary) {
  rows_->rewind();
  while (next_row()) {
    ++samples_;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Column& column = columns_[i];
      if (column.use == Use::dropped) continue;
      const std::string& cell = row_.cells[i];
      look_at(column, cell);
      if (i != label_) continue;
      if (cell.empty())
        throw error_at(row_.line, "the label (column '" + column.declared.name + "') is missing",
                       "fill it in or remove the row");
      if (column.use != Use::label) continue;
      summary.labels.push_back(column.codes.number(cell));
      if (column.codes.size() > kMaximumDistinct)
        throw error("column '" + column.declared.name + "' has over a million different labels",
                    "choose another --label, or say --regression");
    }
  }
  if (samples_ == 0) throw error("has no rows", "expected one sample a row");
  for (const Column& column : columns_) {
    if (column.first_not_finite_line == 0 || column.use == Use::category) continue;
    throw error_at(column.first_not_finite_line,
                   "column '" + column.declared.name + "' holds '" + column.not_finite_text +
                       "', which is not a finite float32",
                   "--missing " + column.not_finite_text + " treats it as missing");
  }
}

// Codes of category columns: declared values in their order, else all texts sorted.
void TableReader::collect_categories() {
  bool wanted = false;
  for (Column& column : columns_) {
    if (column.use != Use::category) continue;
    for (const std::string& value : column.declared.values) column.codes.number(value);
    if (column.missing > 0 && !column.declared.values.empty()) column.codes.number("");
    wanted = wanted || column.declared.values.empty();
  }
  if (!wanted) return;
  rows_->rewind();
  while (next_row()) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Column& column = columns_[i];
      if (column.use != Use::category || !column.declared.values.empty()) continue;
      column.codes.number(row_.cells[i]);
      if (column.codes.size() > kMaximumDistinct)
        throw error("column '" + column.declared.name + "' has over a million different texts",
                    "leave it out: --drop '" + column.declared.name + "'");
    }
  }
  for (Column& column : columns_) {
    if (column.use != Use::category || !column.declared.values.empty()) continue;
    std::vector<std::string> texts = column.codes.texts();
    sort_labels(texts);
    column.codes = {};
    for (const std::string& text : texts) column.codes.number(text);
  }
}

// From labels numbered as they came to class indices.
void TableReader::set_classes(SourceSummary& summary, const SourceSchema* train) {
  Column& column = columns_[label_];
  if (column.use != Use::label) return;
  const std::vector<std::string> seen = column.codes.texts();
  std::vector<std::string> classes = train != nullptr ? train->classes : seen;
  if (train == nullptr) {
    for (const std::string& value : column.declared.values)
      if (column.codes.find(value) < 0) {
        classes.push_back(value);
        summary.lines.push_back("class '" + value + "' is declared but has no samples");
      }
    sort_labels(classes);
  }
  column.codes = {};
  for (const std::string& text : classes) column.codes.number(text);
  std::vector<std::int32_t> mapped;
  for (const std::string& text : seen) {
    mapped.push_back(column.codes.find(text));
    if (mapped.back() < 0)
      throw error("class '" + text + "' (column '" + column.declared.name +
                      "') is not a class of the train data",
                  "its classes were fixed by the train source");
  }
  for (std::int32_t& label : summary.labels) label = mapped[static_cast<std::size_t>(label)];
  summary.schema.classes = classes;
}

Field TableReader::numeric_field() const {
  Field field = plain_field("x", FieldKind::numeric, DType::f32);
  bool pixels = true;
  for (const Column& column : columns_) {
    if (column.use != Use::numeric) continue;
    field.columns.push_back(column.declared.name);
    pixels = pixels && column.pixels && column.missing == 0;
  }
  const auto count = static_cast<std::int64_t>(field.columns.size());
  field.shape = {count};
  if (options_.shape.empty()) return field;
  Shape shape = options_.shape;
  if (shape.size() == 2) shape.insert(shape.begin(), 1);
  if (shape.size() != 3 || element_count(shape) != count)
    throw error("--shape " + shape_text(options_.shape) + " does not fit " +
                    count_text(field.columns.size(), "numeric column"),
                "channels x height x width must multiply to that count");
  field.kind = FieldKind::image;
  field.dtype = pixels ? DType::u8 : DType::f32;
  field.shape = shape;
  field.columns.clear();
  return field;
}

void TableReader::make_fields(SourceSchema& schema) const {
  Field numeric = numeric_field();
  if (element_count(numeric.shape) > 0) schema.fields.push_back(std::move(numeric));
  Field category = plain_field("c", FieldKind::category, DType::i32);
  for (const Column& column : columns_) {
    if (column.use != Use::category) continue;
    category.columns.push_back(column.declared.name);
    category.categories.push_back(column.codes.texts());
  }
  if (!category.columns.empty()) {
    category.shape = {static_cast<std::int64_t>(category.columns.size())};
    schema.fields.push_back(std::move(category));
  }
  if (schema.fields.empty())
    throw error("has no column besides the label", "nothing to learn from");
  if (options_.regression)
    schema.fields.push_back(plain_field("y", FieldKind::target, DType::f32));
  else
    schema.fields.push_back(plain_field("y", FieldKind::label, DType::i64));
  schema.task = options_.regression ? LearningTask::regression : LearningTask::classification;
}

// Columns of a val or test source are used as the train source's are.
void TableReader::take_over(const SourceSchema& train) {
  std::size_t category = 0;
  const Field* categories = nullptr;
  std::vector<std::string> known;
  for (const Field& field : train.fields) {
    if (field.kind == FieldKind::category) categories = &field;
    known.insert(known.end(), field.columns.begin(), field.columns.end());
  }
  for (Column& column : columns_) {
    if (column.use == Use::dropped || &column == &columns_[label_]) continue;
    const bool is_category = categories != nullptr && category < categories->columns.size() &&
                             categories->columns[category] == column.declared.name;
    column.use = is_category ? Use::category : Use::numeric;
    // From here on a text in it is an error, as in a column declared numeric.
    column.declared.declared =
        is_category ? TableColumn::Declared::text : TableColumn::Declared::numeric;
    if (is_category)
      for (const std::string& text : categories->categories[category++]) column.codes.number(text);
  }
}

void TableReader::check_columns(const SourceSchema& train) const {
  for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
    const Field& mine = schema_.fields[i];
    const bool same = i < train.fields.size() && train.fields[i].shape == mine.shape &&
                      train.fields[i].columns == mine.columns;
    if (!same || schema_.fields.size() != train.fields.size())
      throw error("its columns are not those of the train source",
                  "names and order of columns must agree");
  }
}

SourceSummary TableReader::scan(const SourceSchema* train) {
  SourceSummary summary;
  choose_uses();
  if (train != nullptr) take_over(*train);
  first_pass(summary);
  if (train == nullptr) collect_categories();
  set_classes(summary, train);
  make_fields(summary.schema);
  schema_ = summary.schema;
  if (train != nullptr) {
    check_columns(*train);
    schema_ = *train;
    summary.schema = *train;
  }
  summary.samples = samples_;
  summary.bytes = rows_->stored_bytes();
  const std::vector<std::string> lines = rows_->lines();
  summary.lines.insert(summary.lines.begin(), lines.begin(), lines.end());
  for (const Column& column : columns_) {
    if (column.missing == 0 || column.use == Use::dropped) continue;
    summary.has_missing = summary.has_missing || column.use == Use::numeric;
    summary.lines.push_back("column '" + column.declared.name +
                            "': " + std::to_string(column.missing) + " missing, " +
                            (column.use == Use::numeric ? "filled with the train mean"
                                                        : "kept as a category of their own"));
  }
  rewind();
  return summary;
}

void TableReader::store_number(const Column& column, const std::string& cell,
                               std::byte* out) const {
  double value = std::numeric_limits<double>::quiet_NaN();
  if (!cell.empty()) parse_number(cell, value);
  if (schema_.fields[0].dtype == DType::u8 && column.use == Use::numeric) {
    if (!(value >= 0 && value <= 255) || value != std::floor(value))
      throw error_at(row_.line, "column '" + column.declared.name + "' holds '" + cell +
                                    "', but the train data's pixels are whole numbers in 0..255");
    *out = static_cast<std::byte>(static_cast<std::uint8_t>(value));
    return;
  }
  const auto number = static_cast<float>(value);
  std::memcpy(out, &number, sizeof number);
}

void TableReader::store_row(SampleBlock& block) const {
  std::vector<std::byte*> out;
  for (std::size_t f = 0; f < schema_.fields.size(); ++f) {
    const Field& field = schema_.fields[f];
    const auto row_bytes =
        static_cast<std::size_t>(element_count(field.shape)) * dtype_bytes(field.dtype);
    block.values[f].resize(block.values[f].size() + row_bytes);
    out.push_back(block.values[f].data() + block.values[f].size() - row_bytes);
  }
  const std::size_t x = 0, c = out.size() - 2, y = out.size() - 1;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Column& column = columns_[i];
    const std::string& cell = row_.cells[i];
    if (column.use == Use::numeric) {
      store_number(column, cell, out[x]);
      out[x] += dtype_bytes(schema_.fields[x].dtype);
    } else if (column.use == Use::target) {
      store_number(column, cell, out[y]);
    } else if (column.use == Use::category) {
      const std::int32_t code = column.codes.find(cell);
      if (code < 0)
        throw error_at(row_.line, "column '" + column.declared.name + "' holds '" + cell +
                                      "', which is not one of its known categories");
      std::memcpy(out[c], &code, sizeof code);
      out[c] += sizeof code;
    } else if (column.use == Use::label) {
      const std::int64_t label = column.codes.find(cell);
      std::memcpy(out[y], &label, sizeof label);
    }
  }
}

bool TableReader::read(std::int64_t block_samples, SampleBlock& block) {
  block = {};
  block.first = given_;
  block.values.resize(schema_.fields.size());
  while (block.count < block_samples && next_row()) {
    store_row(block);
    ++block.count;
  }
  given_ += block.count;
  if (block.count == 0 && given_ != samples_)
    throw error("changed while it was read", "run again when nobody writes to it");
  return block.count > 0;
}

}  // namespace

std::unique_ptr<SourceReader> make_table_reader(std::unique_ptr<RowSource> rows,
                                                const ReaderContext& context) {
  return std::make_unique<TableReader>(std::move(rows), context);
}

}  // namespace ddl
