// What the tests of base share: a folder of one's own, and the error that some code throws.
#pragma once

#include "ddl/base/error.h"

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <stdlib.h>

namespace ddl::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "ddl-base-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "cannot create " << name;
    path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

// The ddl::Error that `body` throws; a test failure and a marked error when it throws none.
template <typename Body>
Error error_of(Body&& body) {
  try {
    std::forward<Body>(body)();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no ddl::Error was thrown";
  return failure("no error was thrown");
}

// Sets or unsets an environment variable until the end of the scope.
class ScopedEnvironment {
 public:
  ScopedEnvironment(std::string name, const char* value) : name_(std::move(name)) {
    if (const char* old = ::getenv(name_.c_str())) old_ = old;
    put(value);
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;
  ~ScopedEnvironment() { put(old_ ? old_->c_str() : nullptr); }

 private:
  void put(const char* value) {
    if (value != nullptr) {
      ::setenv(name_.c_str(), value, 1);
    } else {
      ::unsetenv(name_.c_str());
    }
  }
  std::string name_;
  std::optional<std::string> old_;
};

}  // namespace ddl::test
