#include "ddl/artifact/document.h"

#include "ddl/artifact/embedded_schemas.h"
#include "ddl/artifact/schema.h"

#include <algorithm>

namespace ddl {
namespace artifact {
namespace {

const EmbeddedSchema& embedded(std::string_view format) {
  const auto all = embedded_schemas();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const EmbeddedSchema& one) { return one.format == format; });
  if (found != all.end()) return *found;
  const std::vector<std::string_view> names = artifact_formats();
  const std::string near = nearest_name(format, names.data(), names.data() + names.size());
  throw bad_input("unknown format \"" + std::string(format) + "\"",
                  near.empty() ? "" : "did you mean \"" + near + "\"?");
}

// Compiled at first use, kept for good; initialisation of a local static is thread-safe.
const Schema& compiled(std::string_view format) {
  static const auto schemas = [] {
    std::map<std::string, Schema, std::less<>> all;
    for (const EmbeddedSchema& one : embedded_schemas())
      all.try_emplace(std::string(one.format), one.text);
    return all;
  }();
  return schemas.find(embedded(format).format)->second;
}

// The head first, so that a file of another kind or of a later version is told as such.
void check_head(std::string_view format, const Json& document, const std::filesystem::path& file) {
  const std::string name(format);
  if (!document.is_object())
    refuse(file, "", "found " + describe(document) + ", expected a " + name + " object");
  const auto found = document.find("format");
  if (found != document.end() && *found != name)
    refuse(file, "/format", "found " + describe(*found) + ", expected \"" + name + "\"",
           "this is another kind of file");
  const auto version = document.find("version");
  if (version != document.end() && version->is_number() && *version != 1)
    refuse(file, "/version", "found version " + version->dump() + ", this ddl reads version 1",
           "use the ddl that wrote the file, or write it again");
}

}  // namespace

std::vector<std::string> check_document(std::string_view format, const Json& document,
                                        const std::filesystem::path& file) {
  const Schema& schema = compiled(format);
  check_head(format, document, file);
  Findings findings = schema.validate(document);
  if (findings.violation) {
    const Violation& violation = *findings.violation;
    refuse(file, violation.pointer,
           "found " + violation.found + ", expected " + violation.expected);
  }
  for (std::string& warning : findings.warnings) warning = file.string() + ": " + warning;
  return std::move(findings.warnings);
}

}  // namespace artifact

std::vector<std::string_view> artifact_formats() {
  std::vector<std::string_view> out;
  for (const artifact::EmbeddedSchema& one : artifact::embedded_schemas())
    out.push_back(one.format);
  return out;
}

std::string_view artifact_schema(std::string_view format) {
  return artifact::embedded(format).text;
}

std::vector<std::string> validate_artifact(std::string_view format, std::string_view text,
                                           const std::filesystem::path& file) {
  return artifact::check_document(format, artifact::parse_json(text, file), file);
}

}  // namespace ddl
