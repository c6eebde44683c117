// Which format a source has, by content before suffix, and which files make up its splits.
#include "ddl/base/error.h"
#include "ddl/data/readers/reader.h"
#include "ddl/data/readers/source_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace ddl {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormats = "image-folder, idx, csv, arff, npy, text";

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// ".csv" of "Data.CSV.gz".
std::string suffix_of(fs::path path) {
  if (lower(path.extension().string()) == ".gz") path = path.stem();
  return lower(path.extension().string());
}

// "train" of "train.csv.gz".
std::string stem_of(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.substr(0, name.find('.'));
}

// Names of a folder's entries without the hidden ones, sorted by bytes.
std::vector<fs::path> visible_entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (!it->path().filename().string().starts_with('.')) out.push_back(it->path());
  if (error) throw bad_input("cannot be listed: " + error.message()).with_file(folder.string());
  std::sort(out.begin(), out.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return out;
}

bool has_idx_magic(std::string_view head) {
  constexpr std::string_view kTypes("\x08\x09\x0b\x0c\x0d\x0e", 6);
  return head.size() >= 4 && head[0] == 0 && head[1] == 0 &&
         kTypes.find(head[2]) != std::string_view::npos && head[3] >= 1 && head[3] <= 4;
}

bool is_image(std::string_view head) {
  return head.starts_with("\xff\xd8\xff") || head.starts_with("\x89PNG\r\n\x1a\n");
}

// A relation statement after comments and blank lines.
bool looks_like_arff(std::string_view head) {
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size());
    std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 1, head.size()));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.front())) != 0)
      line.remove_prefix(1);
    if (line.empty() || line.front() == '%') continue;
    return lower(std::string(line.substr(0, 9))) == "@relation";
  }
  return false;
}

// Two or more lines with the same number of commas, at least one.
bool looks_like_csv(std::string_view head) {
  std::array<std::ptrdiff_t, 2> commas{};
  for (std::ptrdiff_t& count : commas) {
    const std::size_t end = head.find('\n');
    if (end == std::string_view::npos) return false;
    count = std::count(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(end), ',');
    head.remove_prefix(end + 1);
  }
  return commas[0] > 0 && commas[0] == commas[1];
}

std::string detect_file(const fs::path& path, std::string& why) {
  const std::string head = file_head(path, std::size_t{64} << 10);
  if (head.empty()) throw bad_input("is empty", "expected data").with_file(path.string());
  if (has_idx_magic(head)) return why = "starts with an IDX magic number", "idx";
  if (head.starts_with("\x93NUMPY")) return why = "starts with NumPy's magic text", "npy";
  if (is_image(head))
    throw bad_input("is a single image",
                    "give the folder that holds a folder of images per class: DATA/cat/1.jpg")
        .with_file(path.string());
  const std::string suffix = suffix_of(path);
  if (looks_like_arff(head)) return why = "starts with @relation", "arff";
  if (suffix == ".csv" || suffix == ".tsv" || suffix == ".data")
    return why = "named *" + suffix, "csv";
  const bool binary = head.find('\0') != std::string::npos && !head.starts_with("\xff\xfe") &&
                      !head.starts_with("\xfe\xff");
  if (binary)
    throw bad_input("its format is not known",
                    "formats: " + std::string(kFormats) + ", each also as gzip; --format names one")
        .with_file(path.string());
  if (suffix == ".txt" || suffix == ".text" || suffix == ".md" || suffix == ".pod")
    return why = "named *" + suffix, "text";
  if (looks_like_csv(head)) return why = "its first lines have the same number of commas", "csv";
  return why = "it is text", "text";
}

// The entry of a folder that stands for a split: a folder train/ or a file train.csv.gz.
fs::path split_entry(const std::vector<fs::path>& entries, const std::string& split, bool folders) {
  const std::vector<std::string> names =
      split == "val" ? std::vector<std::string>{"val", "valid", "validation"}
                     : std::vector<std::string>{split};
  for (const std::string& name : names)
    for (const fs::path& entry : entries)
      if (fs::is_directory(entry) == folders && lower(stem_of(entry)) == name) return entry;
  return {};
}

[[noreturn]] void unknown_folder(const fs::path& path, const std::vector<fs::path>& entries) {
  std::string found = std::to_string(entries.size()) + " plain files and no folders";
  if (entries.empty()) found = "nothing";
  throw bad_input(
      "the folder holds " + found + ", where a folder of images per class was looked for",
      "example: DATA/cat/1.jpg DATA/dog/2.png")
      .with_file(path.string());
}

std::string detect_folder(const fs::path& path, std::string& why) {
  const std::vector<fs::path> entries = visible_entries(path);
  for (const fs::path& entry : entries)
    if (fs::is_directory(entry)) return why = "a folder with folders in it", "image-folder";
  if (const fs::path train = split_entry(entries, "train", false); !train.empty())
    return detect_file(train, why);
  for (const fs::path& entry : entries)
    if (fs::is_regular_file(entry) && has_idx_magic(file_head(entry, 4)))
      return why = "a folder with IDX files", "idx";
  unknown_folder(path, entries);
}

// MNIST's naming: images-idx3 beside labels-idx1. Empty when there is no such file.
fs::path labels_beside(const fs::path& images) {
  std::string name = images.filename().string();
  const std::size_t word = name.find("images");
  if (word == std::string::npos) return {};
  name.replace(word, 6, "labels");
  if (const std::size_t rank = name.find("idx3"); rank != std::string::npos)
    name.replace(rank, 4, "idx1");
  const fs::path labels = images.parent_path() / name;
  return fs::exists(labels) ? labels : fs::path();
}

SourceSpec array_source(const std::string& split, std::vector<fs::path> paths) {
  if (paths.size() == 1)
    if (const fs::path labels = labels_beside(paths[0]); !labels.empty()) paths.push_back(labels);
  if (paths.size() != 2)
    throw bad_input("labels are missing",
                    "give data and labels: ddl-shard build DATA LABELS -o OUT")
        .with_file(paths[0].string());
  return {split, paths, {}};
}

std::vector<SourceSpec> idx_folder(const fs::path& folder) {
  std::vector<SourceSpec> out;
  const std::vector<fs::path> entries = visible_entries(folder);
  for (const auto& [split, prefixes] :
       std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"train", {"train", ""}}, {"val", {"val"}}, {"test", {"t10k", "test"}}}) {
    for (const std::string& prefix : prefixes) {
      const auto found = std::find_if(entries.begin(), entries.end(), [&](const fs::path& entry) {
        const std::string name = entry.filename().string();
        return name.starts_with(prefix) && name.find("images") != std::string::npos &&
               !labels_beside(entry).empty();
      });
      if (found == entries.end()) continue;
      out.push_back(array_source(split, {*found}));
      break;
    }
  }
  if (out.empty() || out.front().split != "train")
    throw bad_input("no pair of IDX files was found",
                    "looked for train-images-idx3-ubyte and train-labels-idx1-ubyte (also .gz)")
        .with_file(folder.string());
  if (out.size() == 1) out.front().split = "";
  return out;
}

std::vector<SourceSpec> split_folder(const fs::path& folder, bool folders) {
  std::vector<fs::path> entries = visible_entries(folder);
  std::vector<SourceSpec> out;
  for (const char* split : {"train", "val", "test"}) {
    const fs::path entry = split_entry(entries, split, folders);
    if (entry.empty()) continue;
    out.push_back({split, {entry}, {}});
    entries.erase(std::find(entries.begin(), entries.end(), entry));
  }
  if (out.empty() || out.front().split != "train") return {{"", {folder}, {}}};
  for (const fs::path& entry : entries) out.front().ignored.push_back(entry.filename().string());
  return out;
}

std::vector<SourceSpec> text_sources(const std::vector<fs::path>& sources) {
  SourceSpec out;
  for (const fs::path& source : sources) {
    if (!fs::is_directory(source)) {
      out.paths.push_back(source);
      continue;
    }
    if (const std::vector<SourceSpec> split = split_folder(source, false);
        sources.size() == 1 && split.front().split == "train")
      return split;
    for (const fs::path& entry : visible_entries(source)) {
      if (fs::is_regular_file(entry))
        out.paths.push_back(entry);
      else
        out.ignored.push_back(entry.filename().string());
    }
  }
  if (out.paths.empty())
    throw bad_input("the folder holds no files", "expected text files")
        .with_file(sources.front().string());
  return {out};
}

void require_one(const BuildOptions& options, const std::string& format) {
  if (options.sources.size() == 1) return;
  throw bad_input("format " + format + " takes one source, " +
                      std::to_string(options.sources.size()) + " were given",
                  "splits of their own: --val PATH, --test PATH");
}

std::vector<SourceSpec> main_sources(const std::string& format, const BuildOptions& options) {
  const fs::path& source = options.sources.front();
  if (format == "text") return text_sources(options.sources);
  if (format == "image-folder") {
    require_one(options, format);
    if (!fs::is_directory(source))
      throw bad_input("is a file, where a folder with a folder of images per class was looked for",
                      "example: DATA/cat/1.jpg DATA/dog/2.png")
          .with_file(source.string());
    return split_folder(source, true);
  }
  if (format == "idx" || format == "npy") {
    if (fs::is_directory(source)) {
      require_one(options, format);
      return format == "idx" ? idx_folder(source) : split_folder(source, false);
    }
    return {array_source("", options.sources)};
  }
  require_one(options, format);
  if (!fs::is_directory(source)) return {{"", options.sources, {}}};
  std::vector<SourceSpec> out = split_folder(source, false);
  if (out.front().split.empty())
    throw bad_input("is a folder without a train file", "give one " + format +
                                                            " file, or a folder "
                                                            "with train." +
                                                            format + " and test." + format)
        .with_file(source.string());
  return out;
}

}  // namespace

std::string detect_format(const fs::path& path, std::string& why) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
    throw bad_input("does not exist", "check the path").with_file(path.string());
  return fs::is_directory(status) ? detect_folder(path, why) : detect_file(path, why);
}

std::vector<SourceSpec> find_sources(const std::string& format, const BuildOptions& options) {
  constexpr std::array<std::string_view, 6> kNames{"image-folder", "idx", "csv",
                                                   "arff",         "npy", "text"};
  if (std::find(kNames.begin(), kNames.end(), format) == kNames.end()) {
    const std::string near = nearest_name(format, kNames.data(), kNames.data() + kNames.size());
    throw bad_input("format '" + format + "' is not known",
                    (near.empty() ? "" : "did you mean " + near + "? ") +
                        ("formats: " + std::string(kFormats)));
  }
  for (const fs::path& source : options.sources)
    if (!fs::exists(source))
      throw bad_input("does not exist", "check the path").with_file(source.string());
  std::vector<SourceSpec> out = main_sources(format, options);
  for (const char* split : {"val", "test"}) {
    const auto given = options.split_sources.find(split);
    if (given == options.split_sources.end()) continue;
    if (!fs::exists(given->second))
      throw bad_input("does not exist (--" + std::string(split) + ")", "check the path")
          .with_file(given->second.string());
    std::erase_if(out, [&](const SourceSpec& spec) { return spec.split == split; });
    if (format == "idx" || format == "npy")
      out.push_back(array_source(split, {given->second}));
    else
      out.push_back({split, {given->second}, {}});
  }
  return out;
}

std::unique_ptr<SourceReader> make_reader(const std::string& format, const SourceSpec& source,
                                          const ReaderContext& context) {
  if (format == "image-folder") return make_image_folder_reader(source, context);
  if (format == "idx" || format == "npy") return make_array_reader(source, context);
  if (format == "csv") return make_csv_reader(source, context);
  if (format == "arff") return make_arff_reader(source, context);
  return make_text_reader(source, context);
}

}  // namespace ddl
