// One document of each format with every field set, each to a value that is not its default.
#pragma once

#include "ddl/artifact/checkpoint.h"
#include "ddl/artifact/cluster.h"
#include "ddl/artifact/dataset.h"
#include "ddl/artifact/plan.h"
#include "ddl/artifact/run.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace ddl::examples {

DatasetManifest dataset();
Cluster cluster();
Plan plan();
RunRecord run();
CheckpointRecord checkpoint();

// The text of the example of `format`, written by its writer into `folder`.
std::string text(std::string_view format, const std::filesystem::path& folder);
// Reads `file` with the reader of `format` and writes it again beside it; returns what was written.
std::string read_and_write(std::string_view format, const std::filesystem::path& file);

// Reads `file` with the reader of `format`.
void read(std::string_view format, const std::filesystem::path& file);

}  // namespace ddl::examples
