#include "ddl/artifact/schema.h"

#include <tuple>
#include <utility>

namespace ddl::artifact {
namespace {

constexpr std::size_t kAny = std::size_t{1} << 62;

// Reads a pattern from the left; what is not understood is our own bug.
struct PatternReader {
  std::string_view whole, rest;

  Error wrong() const {
    return failure("the schema's pattern is not one of the forms in schema.h")
        .with_pointer(std::string(whole));
  }

  std::size_t number() {
    std::size_t value = 0, digits = 0;
    for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9'; ++digits)
      value = value * 10 + static_cast<std::size_t>(rest[digits] - '0');
    if (digits == 0 || digits > 6) throw wrong();
    rest.remove_prefix(digits);
    return value;
  }

  std::bitset<256> set() {
    std::bitset<256> out;
    if (rest.front() != '[') {
      if (std::string_view("\\.()|*+?{}^$").find(rest.front()) != std::string_view::npos)
        throw wrong();
      out.set(static_cast<unsigned char>(rest.front()));
      rest.remove_prefix(1);
      return out;
    }
    const std::size_t close = rest.find(']');
    if (close == std::string_view::npos || close == 1 || rest[1] == '^') throw wrong();
    for (std::size_t i = 1; i < close; ++i) {
      const auto first = static_cast<unsigned char>(rest[i]);
      auto last = first;
      if (i + 2 < close && rest[i + 1] == '-') last = static_cast<unsigned char>(rest[i += 2]);
      for (unsigned c = first; c <= last; ++c) out.set(c);
    }
    rest.remove_prefix(close + 1);
    return out;
  }

  // How often: 1 when nothing is said.
  std::pair<std::size_t, std::size_t> times() {
    if (rest.starts_with("*") || rest.starts_with("+") || rest.starts_with("?")) {
      const char sign = rest.front();
      rest.remove_prefix(1);
      return {sign == '+' ? 1 : 0, sign == '?' ? 1 : kAny};
    }
    if (!rest.starts_with("{")) return {1, 1};
    rest.remove_prefix(1);
    const std::size_t minimum = number();
    std::size_t maximum = minimum;
    if (rest.starts_with(",")) {
      rest.remove_prefix(1);
      maximum = number();
    }
    if (!rest.starts_with("}")) throw wrong();
    rest.remove_prefix(1);
    return {minimum, maximum};
  }
};

}  // namespace

Pattern::Pattern(std::string_view text) {
  PatternReader reader{text, text};
  if (text.size() < 2 || text.front() != '^' || text.back() != '$') throw reader.wrong();
  reader.rest = text.substr(1, text.size() - 2);
  if (reader.rest.starts_with("(") && reader.rest.ends_with(")?")) {
    may_be_empty_ = true;
    reader.rest = reader.rest.substr(1, reader.rest.size() - 3);
  }
  while (!reader.rest.empty()) {
    Item item;
    item.set = reader.set();
    std::tie(item.minimum, item.maximum) = reader.times();
    items_.push_back(item);
  }
}

bool Pattern::matches(std::string_view text) const {
  if (text.empty() && may_be_empty_) return true;
  for (const Item& item : items_) {
    std::size_t taken = 0;
    while (taken < item.maximum && taken < text.size() &&
           item.set.test(static_cast<unsigned char>(text[taken])))
      ++taken;
    if (taken < item.minimum) return false;
    text.remove_prefix(taken);
  }
  return text.empty();
}

}  // namespace ddl::artifact
