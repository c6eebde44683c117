// Plain text for next-token models. Samples are windows of context + 1 tokens, one after the other,
// each sharing one token with the next: every token is predicted once. Text is cut in order into
// train, val and test before windows are made, so no token is in two splits.
//
// Tokens are bytes (256 of them) or characters: the vocabulary is the set of code points of the
// train source in ascending order. Line ends and everything else are kept as they are; a UTF-8 byte
// order mark at a file's start is removed.
#include "ddl/base/error.h"
#include "ddl/data/readers/reader.h"
#include "ddl/data/readers/source_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

namespace ddl {
namespace {

constexpr std::size_t kBlock = std::size_t{256} << 10;
constexpr std::uint32_t kNoCharacter = 0xffffffff;

std::string utf8(std::uint32_t code) {
  std::string out;
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
  }
  if (code >= 0x80) out += static_cast<char>(0x80 | (code & 0x3f));
  return out;
}

// The bytes of several files in a row, in blocks.
class ByteStream {
 public:
  explicit ByteStream(const std::vector<std::unique_ptr<SourceFile>>& files) : files_(files) {}
  // The next byte, or -1 at the end of a file (next_file() goes on).
  int next() {
    if (position_ == block_.size() && !fill()) return -1;
    const int byte = std::to_integer<int>(block_[position_++]);
    if (byte == '\n') ++line_;
    return byte;
  }
  bool next_file() {
    ++file_;
    offset_ = 0;
    line_ = 1;
    block_.clear();
    position_ = 0;
    return file_ < files_.size();
  }
  std::int64_t line() const { return line_; }
  const std::filesystem::path& path() const { return files_[file_]->path(); }

 private:
  bool fill() {
    if (file_ >= files_.size()) return false;
    const SourceFile& file = *files_[file_];
    const std::uint64_t left = file.size() - offset_;
    if (left == 0) return false;
    block_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, kBlock)));
    file.read_at(offset_, block_);
    if (offset_ == 0) {
      const std::string_view head(reinterpret_cast<const char*>(block_.data()), block_.size());
      position_ = head.size() - without_byte_order_mark(head, file.path()).size();
    } else {
      position_ = 0;
    }
    offset_ += block_.size();
    return position_ < block_.size() || fill();
  }

  const std::vector<std::unique_ptr<SourceFile>>& files_;
  std::size_t file_ = 0;
  std::uint64_t offset_ = 0;
  std::int64_t line_ = 1;
  std::vector<std::byte> block_;
  std::size_t position_ = 0;
};

class CharacterStream {
 public:
  CharacterStream(const std::vector<std::unique_ptr<SourceFile>>& files, bool bytes)
      : bytes_(files), as_bytes_(bytes) {}
  // The next code point (or byte); kNoCharacter at the end.
  std::uint32_t next() {
    int byte = bytes_.next();
    while (byte < 0) {
      if (!bytes_.next_file()) return kNoCharacter;
      byte = bytes_.next();
    }
    if (as_bytes_ || byte < 0x80) return static_cast<std::uint32_t>(byte);
    return decode(byte);
  }
  std::int64_t line() const { return bytes_.line(); }
  const std::filesystem::path& path() const { return bytes_.path(); }

 private:
  [[noreturn]] void invalid() const {
    throw bad_input("line " + std::to_string(bytes_.line()) + ": is not valid UTF-8",
                    "--tokens bytes takes any bytes; or convert the file with iconv")
        .with_file(bytes_.path().string());
  }
  std::uint32_t decode(int lead) {
    const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4) invalid();
    auto code = static_cast<std::uint32_t>(lead & (0x3f >> more));
    for (int i = 0; i < more; ++i) {
      const int byte = bytes_.next();
      if (byte < 0 || (byte & 0xc0) != 0x80) invalid();
      code = code << 6 | static_cast<std::uint32_t>(byte & 0x3f);
    }
    const bool overlong = (more == 2 && code < 0x800) || (more == 3 && code < 0x10000);
    if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) invalid();
    return code;
  }

  ByteStream bytes_;
  bool as_bytes_;
};

class TextReader : public SourceReader {
 public:
  TextReader(const SourceSpec& source, const ReaderContext& context)
      : options_(context.options), fractions_(context.fractions) {
    if (options_.tokens != "characters" && options_.tokens != "bytes")
      throw bad_input("tokens '" + options_.tokens + "' are not known", "use characters or bytes");
    for (const std::filesystem::path& path : source.paths)
      files_.push_back(std::make_unique<SourceFile>(path, context.scratch));
  }

  SourceSummary scan(const SourceSchema* train) override;
  bool read(std::int64_t block_samples, SampleBlock& block) override;
  void rewind() override {
    stream_.emplace(files_, options_.tokens == "bytes");
    position_ = 0;
    window_ = 0;
    carried_.reset();
  }

 private:
  void find_vocabulary(const SourceSchema* train);
  void cut_windows(SourceSummary& summary);
  std::int32_t next_token();
  std::int64_t window_start(std::int64_t window) const;

  const BuildOptions& options_;
  SplitFractions fractions_;
  std::vector<std::unique_ptr<SourceFile>> files_;
  std::optional<CharacterStream> stream_;
  std::map<std::uint32_t, std::int32_t> codes_;  // characters only
  SourceSchema schema_;
  std::int64_t tokens_ = 0, position_ = 0, window_ = 0;
  struct Section {
    std::int64_t first_token = 0, first_window = 0, windows = 0;
  };
  std::vector<Section> sections_;
  std::optional<std::int32_t> carried_;  // the last token given, which the next window starts with
};

void TextReader::find_vocabulary(const SourceSchema* train) {
  rewind();
  const bool bytes = options_.tokens == "bytes";
  if (train != nullptr && !bytes)
    for (const std::string& text : train->tokenizer.vocabulary) {
      // Each entry is one character, made by utf8().
      std::uint32_t code = static_cast<unsigned char>(text[0]);
      if (code >= 0x80) {
        code &= 0x3fU >> (text.size() - 1);
        for (std::size_t i = 1; i < text.size(); ++i)
          code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3fU);
      }
      codes_.emplace(code, static_cast<std::int32_t>(codes_.size()));
    }
  for (std::uint32_t code = stream_->next(); code != kNoCharacter; code = stream_->next()) {
    ++tokens_;
    if (bytes || codes_.contains(code)) continue;
    if (train != nullptr)
      throw bad_input("line " + std::to_string(stream_->line()) + ": character '" + utf8(code) +
                          "' is not in the train text",
                      "--tokens bytes needs no vocabulary")
          .with_file(stream_->path().string());
    codes_.emplace(code, 0);
  }
  std::int32_t number = 0;
  if (train == nullptr)
    for (auto& [code, id] : codes_) id = number++;
}

void TextReader::cut_windows(SourceSummary& summary) {
  const double total = static_cast<double>(tokens_);
  check_fractions(fractions_);
  const std::int64_t val_end = tokens_ - std::llround(total * fractions_.test);
  const std::int64_t train_end =
      std::max<std::int64_t>(0, val_end - std::llround(total * fractions_.val));
  const std::int64_t ends[] = {train_end, val_end, tokens_};
  std::int64_t begin = 0, windows = 0;
  for (std::int8_t split = 0; split < 3; ++split) {
    const std::int64_t tokens = ends[split] - begin;
    const std::int64_t count = std::max<std::int64_t>(0, (tokens - 1) / options_.context);
    if (count == 0 && tokens > 0)
      throw bad_input("its " + std::to_string(tokens) +
                          " tokens of one split are less than one "
                          "sample of " +
                          std::to_string(options_.context + 1),
                      "give more text, a smaller --context, or --val 0 and --test 0")
          .with_file(files_.front()->path().string());
    sections_.push_back({begin, windows, count});
    summary.splits.insert(summary.splits.end(), static_cast<std::size_t>(count), split);
    windows += count;
    begin = ends[split];
  }
  summary.samples = windows;
}

SourceSummary TextReader::scan(const SourceSchema* train) {
  SourceSummary summary;
  find_vocabulary(train);
  if (tokens_ == 0) throw bad_input("holds no text").with_file(files_.front()->path().string());
  cut_windows(summary);
  SourceSchema& schema = summary.schema;
  schema.task = LearningTask::next_token;
  schema.tokenizer.kind = options_.tokens;
  for (const auto& [code, id] : codes_) schema.tokenizer.vocabulary.push_back(utf8(code));
  const std::size_t size = options_.tokens == "bytes" ? 256 : codes_.size();
  const DType dtype = size <= 256 ? DType::u8 : size <= 65536 ? DType::u16 : DType::i32;
  schema.fields = {plain_field("tokens", FieldKind::tokens, dtype, {options_.context + 1})};
  if (train != nullptr) schema = *train;
  schema_ = schema;
  for (const auto& file : files_) summary.bytes += file->stored_bytes();
  summary.lines.push_back(std::to_string(tokens_) + " " + options_.tokens + ", " +
                          std::to_string(size) + " different, in windows of " +
                          std::to_string(options_.context) + " + 1");
  rewind();
  return summary;
}

std::int32_t TextReader::next_token() {
  const std::uint32_t code = stream_->next();
  if (code == kNoCharacter)
    throw bad_input("changed while it was read", "run again when nobody writes to it")
        .with_file(files_.back()->path().string());
  ++position_;
  if (options_.tokens == "bytes") return static_cast<std::int32_t>(code);
  const auto found = codes_.find(code);
  if (found == codes_.end())
    throw bad_input("changed while it was read", "run again when nobody writes to it")
        .with_file(stream_->path().string());
  return found->second;
}

std::int64_t TextReader::window_start(std::int64_t window) const {
  const auto section =
      std::find_if(sections_.begin(), sections_.end(), [&](const Section& candidate) {
        return window < candidate.first_window + candidate.windows;
      });
  return section->first_token + (window - section->first_window) * options_.context;
}

bool TextReader::read(std::int64_t block_samples, SampleBlock& block) {
  block = {};
  block.first = window_;
  block.values.resize(1);
  const std::int64_t total = sections_.back().first_window + sections_.back().windows;
  const Field& field = schema_.fields.front();
  const std::size_t width = dtype_bytes(field.dtype);
  std::vector<std::byte>& out = block.values[0];
  while (block.count < block_samples && window_ < total) {
    const std::int64_t start = window_start(window_);
    // Tokens left over at the end of a section are passed by.
    if (position_ != start + 1) carried_.reset();
    while (position_ < start) next_token();
    for (std::int64_t i = 0; i <= options_.context; ++i) {
      const std::int32_t token = i == 0 && carried_ ? *carried_ : next_token();
      const std::size_t place = out.size();
      out.resize(place + width);
      // Little-endian: the low bytes come first.
      std::memcpy(out.data() + place, &token, width);
      if (i == options_.context) carried_ = token;
    }
    ++block.count;
    ++window_;
  }
  return block.count > 0;
}

}  // namespace

std::unique_ptr<SourceReader> make_text_reader(const SourceSpec& source,
                                               const ReaderContext& context) {
  return std::make_unique<TextReader>(source, context);
}

}  // namespace ddl
