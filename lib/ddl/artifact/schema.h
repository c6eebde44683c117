// A small JSON Schema validator (draft 2020-12) that executes exactly the keywords our schemas use:
//   type (one or several)  const  enum  required  properties  additionalProperties (a schema)
//   items  minItems  minimum  exclusiveMinimum  maximum  minLength  pattern  $ref ("#/$defs/NAME")
// and ignores $schema, title, description. Any other keyword is an error when the schema is loaded:
// a rule that is published and not executed cannot slip in. As in draft 2020-12, 3.0 is an integer
// and numbers compare by value.
//
// `pattern` takes the few regular expressions that one pass over the text can decide: ^ITEM…$ or
// ^(ITEM…)?$, where ITEM is a character or a [set] with an optional {n}, {m,n}, *, + or ?, and
// takes as much as it can without giving back.
//
// Threads: a Schema is immutable. Errors: failure for a schema that is not usable (our bug), a
// Violation for a document that is not valid.
#pragma once

#include "ddl/artifact/json.h"

#include <bitset>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddl::artifact {

class Pattern {
 public:
  explicit Pattern(std::string_view text);
  bool matches(std::string_view text) const;

 private:
  struct Item {
    std::bitset<256> set;
    std::size_t minimum = 1, maximum = 1;
  };
  std::vector<Item> items_;
  bool may_be_empty_ = false;
};

struct Violation {
  std::string pointer, found, expected;
};

struct Findings {
  std::optional<Violation> violation;  // the first, in document order
  std::vector<std::string> warnings;   // "POINTER: unknown key …; did you mean …?"
};

class Schema {
 public:
  explicit Schema(std::string_view text);
  ~Schema();
  Findings validate(const Json& document) const;

 private:
  struct Rule;
  struct Walk;
  std::shared_ptr<const Rule> compile(const Json& schema, const std::string& where) const;
  std::shared_ptr<const Rule> root_;
  std::map<std::string, std::shared_ptr<const Rule>> definitions_;
};

// Checks format, version and schema; throws bad_input, returns warnings as whole lines.
std::vector<std::string> check_document(std::string_view format, const Json& document,
                                        const std::filesystem::path& file);

// A short form of a value for messages: `"text"`, `-1`, `an object`, cut to 40 characters.
std::string describe(const Json& value);

}  // namespace ddl::artifact
