#include "ddl/data/build_record.h"

#include "ddl/base/units.h"

namespace ddl {

std::string joined_text(const std::vector<std::string>& texts, std::string_view between) {
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : std::string(between)) + text;
  return out;
}

namespace {

std::string shape_option(const Shape& shape) {
  return shape.empty() ? "" : shape_text(shape);
}

}  // namespace

std::map<std::string, std::string> shaping_options(const BuildOptions& options,
                                                   const std::string& format) {
  std::map<std::string, std::string> out;
  const auto set = [&](const char* name, const std::string& value, const std::string& usual) {
    if (value != usual) out[name] = value;
  };
  const auto number = [](double value) {
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text + "0" : text;
  };
  if (format == "csv" || format == "arff") {
    set("label", options.label, "");
    set("drop", joined_text(options.drop, ","), "");
    set("categorical", joined_text(options.categorical, ","), "");
    set("missing", joined_text(options.missing, ","), "");
    set("shape", shape_option(options.shape), "");
    set("regression", options.regression ? "true" : "", "");
  }
  if (format == "csv") {
    set("no-header", options.header ? "" : "true", "");
    set("skip-lines", std::to_string(options.skip_lines), "0");
    set("delimiter", std::string(1, options.delimiter), ",");
  }
  if (format == "image-folder") {
    set("size", options.size, "");
    set("channels", options.channels, "auto");
    set("skip-damaged", options.skip_damaged ? "true" : "", "");
    set("keep-empty-classes", options.keep_empty_classes ? "true" : "", "");
  }
  if (format == "text") {
    out["tokens"] = options.tokens;
    out["context"] = std::to_string(options.context);
  }
  out["val"] = number(options.val_fraction);
  out["test"] = number(options.test_fraction);
  for (const auto& [split, path] : options.split_sources)
    out[split] = path.lexically_normal().filename().string();
  out["seed"] = std::to_string(options.seed);
  set("no-stratify", options.stratify ? "" : "true", "");
  out["zstd-level"] = std::to_string(options.zstd_level);
  out["shard-size"] = format_bytes(options.shard_bytes);
  return out;
}

std::string plain_name(const std::filesystem::path& path) {
  std::filesystem::path name = std::filesystem::absolute(path).lexically_normal();
  if (name.filename().empty()) name = name.parent_path();
  name = name.filename();
  if (name.extension() == ".gz") name = name.stem();
  if (!name.stem().empty()) name = name.stem();
  return name.string();
}

}  // namespace ddl
