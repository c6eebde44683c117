# cmake -DOUTPUT=FILE.cpp -DSCHEMAS="a.schema.json,…" -P embed_schemas.cmake
# Writes the schema files as raw string literals.
string(REPLACE "," ";" schemas "${SCHEMAS}")
set(entries "")
foreach(schema IN LISTS schemas)
  get_filename_component(name ${schema} NAME)
  string(REPLACE ".schema.json" "" format ${name})
  file(READ ${schema} text)
  string(APPEND entries "    {\"${format}\", R\"schema(${text})schema\"},\n")
endforeach()
file(WRITE ${OUTPUT} "// Generated from schemas/*.schema.json.
#include \"ddl/artifact/embedded_schemas.h\"

namespace ddl::artifact {
namespace {

constexpr EmbeddedSchema kSchemas[] = {
${entries}};

}  // namespace

std::span<const EmbeddedSchema> embedded_schemas() { return kSchemas; }

}  // namespace ddl::artifact
")
