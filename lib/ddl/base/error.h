// Errors: one exception type that says what went wrong, where, and what to do about it.
//
// A message reads as one line:   rank N: FILE: POINTER: what; remedy
// where rank, FILE and POINTER (a JSON pointer, a line number, a tensor or node name) are present
// only when known. Code that knows more than the thrower adds it on the way up with `with_*`.
//
// The kind decides the exit code of a program (see ddl/cli/app.h):
//   bad_input  2   bad usage or bad input found before the work began
//   failure    1   failed while running (I/O error, lost peer, damage found by verify)
//   stopped   75   stopped on request after a checkpoint was written
//
// Threads: an Error is a value; catch once per thread and carry over with std::exception_ptr.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace ddl {

enum class ErrorKind { bad_input, failure, stopped };

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string what, std::string remedy = {});

  // Each returns *this so that they chain: throw bad_input("…").with_file(path).
  // A context that is already set is kept: the thrower knows best.
  Error& with_file(std::string_view file);
  Error& with_pointer(std::string_view pointer);
  Error& with_rank(int rank);

  const char* what() const noexcept override { return message_.c_str(); }
  ErrorKind kind() const { return kind_; }
  int exit_code() const;
  const std::string& file() const { return file_; }
  const std::string& pointer() const { return pointer_; }
  const std::string& reason() const { return reason_; }
  const std::string& remedy() const { return remedy_; }
  int rank() const { return rank_; }  // -1 when unknown

 private:
  void compose();
  ErrorKind kind_;
  std::string reason_, remedy_, file_, pointer_, message_;
  int rank_ = -1;
};

// The person who ran the program can mend it: exit 2.
Error bad_input(std::string what, std::string remedy = {});
// Something failed while running: exit 1.
Error failure(std::string what, std::string remedy = {});
// A failed system call: appends strerror(error_number); exit 1.
Error system_failure(std::string what, int error_number, std::string remedy = {});

// The candidate nearest to `word` by edit distance (at most a third of the word's length, rounded
// up; two swapped neighbours count once), or "".
// For "did you mean" in errors about names.
std::string nearest_name(std::string_view word, const std::string_view* begin,
                         const std::string_view* end);

}  // namespace ddl
