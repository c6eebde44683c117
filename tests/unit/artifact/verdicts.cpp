// What the C++ side says of documents, for agreement.py to compare with Python's jsonschema.
//   verdicts examples FOLDER   writes FORMAT.json and FORMAT.schema.json of every format there
//   verdicts judge FOLDER      reads lines "FORMAT <tab> document" from stdin; prints for each
//                              "SCHEMA <tab> READER", each "valid" or the error
#include "ddl/artifact/document.h"
#include "ddl/base/error.h"
#include "ddl/base/file.h"
#include "ddl/base/log.h"

#include <fstream>
#include <functional>
#include <iostream>

#include "unit/artifact/examples.h"

namespace {

std::string verdict(const std::function<void()>& judge) {
  try {
    judge();
    return "valid";
  } catch (const ddl::Error& error) {
    return (error.kind() == ddl::ErrorKind::bad_input ? "" : "NOT BAD INPUT: ") +
           std::string(error.what());
  } catch (const std::exception& error) {
    return std::string("NOT AN ERROR OF DDL: ") + error.what();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::filesystem::path folder = argv[2];
  ddl::set_log_level(ddl::LogLevel::off);
  if (std::string_view(argv[1]) == "examples") {
    for (const std::string_view format : ddl::artifact_formats()) {
      ddl::examples::text(format, folder);
      ddl::write_text_atomically(folder / (std::string(format) + ".schema.json"),
                                 ddl::artifact_schema(format));
    }
    return 0;
  }
  const std::filesystem::path file = folder / "document.json";
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t tab = line.find('\t');
    const std::string format = line.substr(0, tab), text = line.substr(tab + 1);
    std::cout << verdict([&] { ddl::validate_artifact(format, text, file); }) << '\t'
              << verdict([&] {
                   // Thousands of them: no fsync, and none by the kernel for a file cut to nothing.
                   std::filesystem::remove(file);
                   std::ofstream(file) << text;
                   ddl::examples::read(format, file);
                 })
              << '\n';
  }
  return 0;
}
