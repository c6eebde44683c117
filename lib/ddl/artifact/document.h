// What every JSON artifact shares: "format" and "version" first, a published JSON Schema, atomic
// writing, and errors that name file, JSON pointer, what was found and what was expected.
//
// The schemas are the files lib/ddl/artifact/schemas/FORMAT.schema.json, compiled in. One small
// validator (schema.h) executes them, so the published schema and the reader cannot disagree.
// Rules a schema cannot say (sums, references between fields) are checked by each struct's reader.
// Unknown versions are refused; unknown keys give a warning naming the nearest known key.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ddl {

// The formats: "ddl-dataset", "ddl-cluster", "ddl-plan", "ddl-run", "ddl-checkpoint".
std::vector<std::string_view> artifact_formats();
// The published schema text of a format.
std::string_view artifact_schema(std::string_view format);

// Validates text against the schema of `format`; throws bad_input with file and pointer. Returns
// warnings (unknown keys), one line each.
std::vector<std::string> validate_artifact(std::string_view format, std::string_view text,
                                           const std::filesystem::path& file);

}  // namespace ddl
