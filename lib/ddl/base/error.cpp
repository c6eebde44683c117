#include "ddl/base/error.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

namespace ddl {
namespace {

// An error is one line: text from libraries and files may hold line breaks.
std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

// Levenshtein distance in which swapping two neighbours counts once ("tarin" for "train").
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before_last[j - 2] + 1);
      }
    }
    std::swap(before_last, last);
    std::swap(last, current);
  }
  return last[b.size()];
}

}  // namespace

Error::Error(ErrorKind kind, std::string what, std::string remedy)
    : kind_(kind), reason_(one_line(std::move(what))), remedy_(one_line(std::move(remedy))) {
  compose();
}

Error& Error::with_file(std::string_view file) {
  if (file_.empty()) file_ = one_line(std::string(file));
  compose();
  return *this;
}

Error& Error::with_pointer(std::string_view pointer) {
  if (pointer_.empty()) pointer_ = one_line(std::string(pointer));
  compose();
  return *this;
}

Error& Error::with_rank(int rank) {
  if (rank_ < 0) rank_ = rank;
  compose();
  return *this;
}

int Error::exit_code() const {
  switch (kind_) {
    case ErrorKind::bad_input:
      return 2;
    case ErrorKind::failure:
      return 1;
    case ErrorKind::stopped:
      return 75;
  }
  return 1;
}

void Error::compose() {
  message_.clear();
  if (rank_ >= 0) message_ += "rank " + std::to_string(rank_) + ": ";
  if (!file_.empty()) message_ += file_ + ": ";
  if (!pointer_.empty()) message_ += pointer_ + ": ";
  message_ += reason_;
  if (!remedy_.empty()) message_ += "; " + remedy_;
}

Error bad_input(std::string what, std::string remedy) {
  return Error(ErrorKind::bad_input, std::move(what), std::move(remedy));
}

Error failure(std::string what, std::string remedy) {
  return Error(ErrorKind::failure, std::move(what), std::move(remedy));
}

Error system_failure(std::string what, int error_number, std::string remedy) {
  return Error(ErrorKind::failure,
               std::move(what) + ": " + std::generic_category().message(error_number),
               std::move(remedy));
}

std::string nearest_name(std::string_view word, const std::string_view* begin,
                         const std::string_view* end) {
  // Rounded up, so that one slip in a word of two letters is still recognised; a word that would
  // have to be replaced whole is no slip.
  const std::size_t limit = (word.size() + 2) / 3;
  std::string_view best;
  std::size_t best_distance = limit + 1;
  for (const std::string_view* candidate = begin; candidate != end; ++candidate) {
    const std::size_t distance = edit_distance(word, *candidate);
    if (distance < best_distance && distance < word.size()) {
      best = *candidate;
      best_distance = distance;
    }
  }
  return std::string(best);
}

}  // namespace ddl
