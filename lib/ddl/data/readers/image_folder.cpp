// A folder with a folder of images per class: DATA/cat/1.jpg, DATA/dog/sub/2.png.
//
// Entries are taken in the order of their bytes, so the order of a directory does not matter.
// Hidden entries and plain files beside the class folders are never classes. What is in a class
// folder and is no image by content is ignored and counted, or damaged when it is named like one; a
// class without any image is an error unless the user keeps it.
#include "ddl/base/checksum.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/units.h"
#include "ddl/data/readers/image.h"
#include "ddl/data/readers/reader.h"
#include "ddl/data/readers/table.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <system_error>

namespace ddl {
namespace {

namespace fs = std::filesystem;

constexpr int kMaximumDepth = 16;
constexpr std::size_t kMaximumFile = std::size_t{256} << 20;
constexpr std::size_t kHead = std::size_t{64} << 10;

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    out.push_back(it->path());
  if (error) throw bad_input("cannot be listed: " + error.message()).with_file(folder.string());
  std::sort(out.begin(), out.end(),
            [](const fs::path& a, const fs::path& b) { return a.native() < b.native(); });
  return out;
}

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with('.');
}

bool is_named_like_an_image(const fs::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return suffix == ".jpg" || suffix == ".jpeg" || suffix == ".png";
}

std::string some(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < names.size() && i < 8; ++i) out += (i > 0 ? ", " : "") + names[i];
  return names.size() > 8 ? out + ", …" : out;
}

struct ImageFile {
  std::string name;  // relative to the source, with '/'
  std::int32_t label = 0;
  ImageInfo info;
};

class ImageFolderReader : public SourceReader {
 public:
  ImageFolderReader(const SourceSpec& source, const ReaderContext& context)
      : root_(source.paths.at(0)), options_(context.options), pool_(context.pool) {
    if (options_.channels != "auto" && options_.channels != "1" && options_.channels != "3")
      throw bad_input("--channels " + options_.channels + " is not known", "use auto, 1 or 3");
  }
  SourceSummary scan(const SourceSchema* train) override;
  bool read(std::int64_t block_samples, SampleBlock& block) override;
  void rewind() override { given_ = 0; }
  // The name, so that adding files elsewhere moves no one to another split.
  std::uint64_t sample_key(std::int64_t sample) const override {
    const std::string& name = files_[static_cast<std::size_t>(sample)].name;
    return xxh3_64(std::as_bytes(std::span(name)));
  }

 private:
  void find_classes(const SourceSchema* train);
  void list_files(const fs::path& folder, std::int32_t label, int depth);
  void check_classes();
  void inspect(SourceSummary& summary);
  Field field_of(SourceSummary& summary, const SourceSchema* train) const;
  std::vector<std::byte> load(const ImageFile& file, std::size_t limit) const;
  std::string decode(const ImageFile& file, std::span<std::byte> out) const;

  fs::path root_;
  const BuildOptions& options_;
  ThreadPool& pool_;
  std::vector<std::string> classes_;
  std::vector<std::string> not_classes_, not_images_;
  std::vector<ImageFile> files_;
  Field field_;
  std::int64_t given_ = 0;
};

void ImageFolderReader::find_classes(const SourceSchema* train) {
  const fs::path output = fs::absolute(options_.output).lexically_normal();
  std::vector<std::string> found;
  for (const fs::path& entry : sorted_entries(root_)) {
    const std::string name = entry.filename().string();
    if (is_hidden(entry) || !fs::is_directory(entry)) {
      not_classes_.push_back(name);
      continue;
    }
    if (fs::absolute(entry).lexically_normal() == output)
      throw bad_input("the output folder lies among the class folders", "choose another -o")
          .with_file(entry.string());
    found.push_back(name);
  }
  if (found.empty())
    throw bad_input(
        "holds no class folders (" + std::to_string(not_classes_.size()) + " other entries)",
        "example: DATA/cat/1.jpg DATA/dog/2.png")
        .with_file(root_.string());
  sort_labels(found);
  classes_ = train != nullptr ? train->classes : found;
  for (const std::string& name : found)
    if (std::find(classes_.begin(), classes_.end(), name) == classes_.end())
      throw bad_input("class '" + name + "' is not a class of the train data",
                      "its classes were fixed by the train source")
          .with_file(root_.string());
}

void ImageFolderReader::list_files(const fs::path& folder, std::int32_t label, int depth) {
  if (depth > kMaximumDepth)
    throw bad_input("is nested more than " + std::to_string(kMaximumDepth) + " folders deep")
        .with_file(folder.string());
  for (const fs::path& entry : sorted_entries(folder)) {
    const std::string name = entry.lexically_relative(root_).generic_string();
    if (is_hidden(entry)) {
      not_images_.push_back(name);
    } else if (fs::is_directory(entry)) {
      list_files(entry, label, depth + 1);
    } else {
      files_.push_back({name, label, {}});
    }
  }
}

std::vector<std::byte> ImageFolderReader::load(const ImageFile& file, std::size_t limit) const {
  const InputFile input(root_ / file.name);
  if (input.size() > kMaximumFile)
    throw bad_input("has " + format_bytes(input.size()) + ", more than an image may have")
        .with_file(input.path().string());
  std::vector<std::byte> out(
      static_cast<std::size_t>(std::min<std::uint64_t>(input.size(), limit)));
  input.read_at(0, out);
  return out;
}

// Types and sizes of all files, read side by side; drops what is no image by content.
void ImageFolderReader::inspect(SourceSummary& summary) {
  std::vector<std::string> problems(files_.size());
  std::vector<std::uint64_t> bytes(files_.size());
  pool_.parallel_for(files_.size(), [&](std::size_t i) {
    ImageFile& file = files_[i];
    const fs::path path = root_ / file.name;
    if (!fs::is_regular_file(path)) return;
    bytes[i] = fs::file_size(path);
    std::vector<std::byte> head = load(file, kHead);
    const ImageType type = image_type(head);
    if (type == ImageType::none) {
      if (is_named_like_an_image(file.name))
        problems[i] = "is named like an image, but its content is neither JPEG nor PNG";
      return;
    }
    problems[i] = read_image_info(head, file.info);
    // The frame header may stand behind long metadata.
    if (!problems[i].empty() && head.size() == kHead)
      problems[i] = read_image_info(load(file, kMaximumFile), file.info);
    file.info.type = type;
  });
  std::vector<ImageFile> kept;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].info.type == ImageType::none && problems[i].empty()) {
      not_images_.push_back(files_[i].name);
      continue;
    }
    summary.bytes += bytes[i];
    if (!problems[i].empty() && !options_.skip_damaged)
      throw bad_input(problems[i], "mend or remove the file, or leave it out with --skip-damaged")
          .with_file((root_ / files_[i].name).string());
    // A file whose header cannot be read is reported when it is decoded.
    kept.push_back(std::move(files_[i]));
  }
  files_ = std::move(kept);
}

void ImageFolderReader::check_classes() {
  std::vector<std::int64_t> counts(classes_.size(), 0);
  for (const ImageFile& file : files_) ++counts[static_cast<std::size_t>(file.label)];
  std::vector<std::string> empty;
  for (std::size_t i = 0; i < classes_.size(); ++i)
    if (counts[i] == 0) empty.push_back("'" + classes_[i] + "'");
  if (files_.empty())
    throw bad_input("holds no images: looked for JPEG and PNG in " +
                        std::to_string(classes_.size()) + " class folders (" + some(empty) + ")",
                    "example: DATA/cat/1.jpg DATA/dog/2.png")
        .with_file(root_.string());
  if (!empty.empty() && !options_.keep_empty_classes)
    throw bad_input("no JPEG or PNG file is in class " + some(empty),
                    "remove the folder, or keep the class with --keep-empty-classes")
        .with_file(root_.string());
}

Field ImageFolderReader::field_of(SourceSummary& summary, const SourceSchema* train) const {
  Field field = plain_field("x", FieldKind::image, DType::u8);
  std::int64_t alpha = 0, deep = 0, colour = 0;
  const ImageFile* first = nullptr;
  for (const ImageFile& file : files_) {
    if (file.info.height == 0) continue;
    alpha += file.info.alpha ? 1 : 0;
    deep += file.info.bits > 8 ? 1 : 0;
    colour += file.info.channels == 3 ? 1 : 0;
    if (first == nullptr) first = &file;
    const bool differs =
        file.info.height != first->info.height || file.info.width != first->info.width;
    if (differs && options_.size.empty() && train == nullptr)
      throw bad_input("is " + std::to_string(file.info.height) + "x" +
                          std::to_string(file.info.width) + " (height x width), but " +
                          first->name + " is " + std::to_string(first->info.height) + "x" +
                          std::to_string(first->info.width),
                      "resize all with --size HxW, for example --size 32x32")
          .with_file((root_ / file.name).string());
  }
  if (alpha > 0)
    summary.lines.push_back(std::to_string(alpha) +
                            " images with transparency are laid over white");
  if (deep > 0)
    summary.lines.push_back(std::to_string(deep) +
                            " images have 16 bits a channel; the upper 8 are kept");
  if (train != nullptr) return train->fields[0];
  if (first == nullptr) throw bad_input("every image in it is damaged").with_file(root_.string());
  std::int64_t channels = colour > 0 ? 3 : 1;
  if (options_.channels != "auto") channels = options_.channels == "1" ? 1 : 3;
  const auto grey = static_cast<std::int64_t>(files_.size()) - colour;
  if (channels == 3 && grey > 0)
    summary.lines.push_back(std::to_string(grey) +
                            " grey images are stored as three equal channels");
  field.shape = {channels, first->info.height, first->info.width};
  if (!options_.size.empty()) {
    const std::size_t cross = options_.size.find('x');
    if (cross == std::string::npos)
      throw bad_input("--size " + options_.size + " is not HxW", "for example --size 32x32");
    field.shape[1] = parse_int(std::string_view(options_.size).substr(0, cross), "--size");
    field.shape[2] = parse_int(std::string_view(options_.size).substr(cross + 1), "--size");
    if (field.shape[1] < 1 || field.shape[2] < 1 || field.shape[1] > 16384 ||
        field.shape[2] > 16384)
      throw bad_input("--size " + options_.size + " is out of range", "use 1 to 16384");
  }
  return field;
}

SourceSummary ImageFolderReader::scan(const SourceSchema* train) {
  SourceSummary summary;
  find_classes(train);
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const fs::path folder = root_ / classes_[i];
    if (fs::is_directory(folder)) list_files(folder, static_cast<std::int32_t>(i), 1);
  }
  std::sort(files_.begin(), files_.end(),
            [](const ImageFile& a, const ImageFile& b) { return a.name < b.name; });
  inspect(summary);
  if (train == nullptr || files_.empty()) check_classes();
  field_ = field_of(summary, train);
  summary.schema.fields = {field_, plain_field("y", FieldKind::label, DType::i64)};
  summary.schema.classes = classes_;
  summary.samples = static_cast<std::int64_t>(files_.size());
  for (const ImageFile& file : files_) summary.labels.push_back(file.label);
  summary.ignored_files = static_cast<std::int64_t>(not_classes_.size() + not_images_.size());
  if (!not_classes_.empty()) summary.lines.push_back("not classes, ignored: " + some(not_classes_));
  if (!not_images_.empty())
    summary.lines.push_back(std::to_string(not_images_.size()) +
                            " files are no images, ignored: " + some(not_images_));
  return summary;
}

std::string ImageFolderReader::decode(const ImageFile& file, std::span<std::byte> out) const {
  const std::vector<std::byte> bytes = load(file, kMaximumFile);
  Image image;
  if (std::string problem = decode_image(bytes, image); !problem.empty()) return problem;
  image = with_channels(std::move(image), static_cast<int>(field_.shape[0]));
  if (image.height != field_.shape[1] || image.width != field_.shape[2]) {
    if (options_.size.empty())
      return "is " + std::to_string(image.height) + "x" + std::to_string(image.width) +
             ", the train images are " + std::to_string(field_.shape[1]) + "x" +
             std::to_string(field_.shape[2]) + "; --size HxW resizes";
    image = resized(image, field_.shape[1], field_.shape[2]);
  }
  store_planar(image, out);
  return "";
}

bool ImageFolderReader::read(std::int64_t block_samples, SampleBlock& block) {
  block = {};
  block.first = given_;
  block.count = std::min(block_samples, static_cast<std::int64_t>(files_.size()) - given_);
  block.values.resize(2);
  if (block.count == 0) return false;
  const auto count = static_cast<std::size_t>(block.count),
             begin = static_cast<std::size_t>(given_);
  const auto pixels = static_cast<std::size_t>(element_count(field_.shape));
  block.values[0].resize(count * pixels);
  block.damaged.resize(count);
  pool_.parallel_for(count, [&](std::size_t i) {
    const ImageFile& file = files_[begin + i];
    const std::string problem =
        decode(file, std::span(block.values[0]).subspan(i * pixels, pixels));
    if (problem.empty()) return;
    if (!options_.skip_damaged)
      throw bad_input(problem, "mend or remove the file, or leave it out with --skip-damaged")
          .with_file((root_ / file.name).string());
    block.damaged[i] = file.name + ": " + problem;
  });
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < count; ++i) labels.push_back(files_[begin + i].label);
  const auto bytes = std::as_bytes(std::span(labels));
  block.values[1].assign(bytes.begin(), bytes.end());
  given_ += block.count;
  return true;
}

}  // namespace

std::unique_ptr<SourceReader> make_image_folder_reader(const SourceSpec& source,
                                                       const ReaderContext& context) {
  return std::make_unique<ImageFolderReader>(source, context);
}

}  // namespace ddl
