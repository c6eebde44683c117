// Rules of dataset.json that no schema can say: shapes and types by kind of field, sums, references
// between parts, names that stay in the folder. Inside this folder only.
#pragma once

#include "ddl/artifact/dataset.h"

#include <filesystem>

namespace ddl::artifact {

// Throws bad_input with file and pointer at the first broken rule.
void check_dataset_rules(const DatasetManifest& manifest, const std::filesystem::path& file);

}  // namespace ddl::artifact
