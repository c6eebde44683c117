// The published schemas, compiled in: the definition is generated from schemas/*.schema.json by
// embed_schemas.cmake while building.
#pragma once

#include <span>
#include <string_view>

namespace ddl::artifact {

struct EmbeddedSchema {
  std::string_view format, text;
};

std::span<const EmbeddedSchema> embedded_schemas();

}  // namespace ddl::artifact
