// A folder that appears under its name as a whole or not at all.
//
// Files are made in a hidden sibling ".NAME.ddl-tmp-PID"; commit() renames it. An existing data
// set is replaced only when asked, by exchanging the two names, so that there is no moment without
// one. What a killed run left behind is recognised by its process being gone and removed by the
// next run.
#pragma once

#include <filesystem>
#include <string>

namespace ddl {

class OutputFolder {
 public:
  // bad_input when the parent cannot be written, when the target exists and `replace` is false, or
  // when it is something other than a data set or an empty folder.
  OutputFolder(std::filesystem::path target, bool replace);
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  ~OutputFolder();
  const std::filesystem::path& path() const { return temporary_; }
  void commit();

 private:
  std::filesystem::path target_, temporary_;
  bool replace_;
};

}  // namespace ddl
