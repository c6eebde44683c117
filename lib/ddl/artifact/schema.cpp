#include "ddl/artifact/schema.h"

#include <algorithm>
#include <array>

namespace ddl::artifact {
namespace {

constexpr std::size_t kMaximumWarnings = 20;

Error broken(const std::string& where, const std::string& what) {
  return failure("the schema is not usable: " + what).with_pointer(where);
}

// One token of a JSON pointer: ~ and / are escaped (RFC 6901).
std::string escaped(std::string_view key) {
  std::string out = "/";
  for (const char c : key) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

// Exact for every integer and double that JSON gives: 64 bits of mantissa or more.
long double exact_number(const Json& value) {
  if (value.is_number_unsigned()) return static_cast<long double>(value.get<std::uint64_t>());
  if (value.is_number_integer()) return static_cast<long double>(value.get<std::int64_t>());
  return static_cast<long double>(value.get<double>());
}

bool has_type(const Json& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (value.is_number_integer()) return true;
  return value.is_number_float() && std::trunc(value.get<double>()) == value.get<double>();
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

std::string article(const std::string& type) {
  if (type == "null") return type;
  return (std::string_view("aeiou").find(type[0]) != std::string_view::npos ? "an " : "a ") + type;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::vector<std::string> type_names(const Json& value, const std::string& where) {
  auto names = value.is_array() ? value.get<std::vector<std::string>>()
                                : std::vector<std::string>{value.get<std::string>()};
  constexpr std::array<std::string_view, 7> kTypes = {"object",  "array",  "string", "boolean",
                                                      "integer", "number", "null"};
  for (const std::string& name : names)
    if (std::find(kTypes.begin(), kTypes.end(), name) == kTypes.end())
      throw broken(where, "unknown type " + name);
  return names;
}

std::string definition_name(const Json& value, const std::string& where) {
  const auto reference = value.get<std::string>();
  constexpr std::string_view kHead = "#/$defs/";
  if (!reference.starts_with(kHead)) throw broken(where, "only #/$defs/NAME is followed");
  return reference.substr(kHead.size());
}

}  // namespace

std::string describe(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array())
    return "an array of " + std::to_string(value.size()) +
           (value.size() == 1 ? " value" : " values");
  constexpr std::size_t kCut = 40;
  if (!value.is_string()) return value.dump();
  std::string text = value.get<std::string>();
  if (text.size() > kCut) {
    std::size_t end = kCut;
    while (end > 0 && (text[end] & 0xC0) == 0x80) --end;
    text = text.substr(0, end) + "…";
  }
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct Schema::Rule {
  std::string definition;  // of $ref; looked up while validating
  std::vector<std::string> types;
  std::optional<Json> constant;
  std::vector<Json> values;  // of enum
  std::vector<std::string> required;
  std::map<std::string, std::shared_ptr<const Rule>, std::less<>> properties;
  std::vector<std::string_view> property_names;  // into properties' keys
  std::shared_ptr<const Rule> additional, items;
  std::optional<std::size_t> minimum_items, minimum_length;
  std::optional<Json> minimum, exclusive_minimum, maximum;
  std::optional<Pattern> pattern;
  std::string pattern_text;
};

Schema::~Schema() = default;

Schema::Schema(std::string_view text) {
  const Json json = parse_json(text, "schema");
  if (const auto found = json.find("$defs"); found != json.end())
    for (const auto& [name, definition] : found->items())
      definitions_[name] = compile(definition, "/$defs/" + name);
  root_ = compile(json, "");
}

std::shared_ptr<const Schema::Rule> Schema::compile(const Json& schema,
                                                    const std::string& where) const {
  if (!schema.is_object()) throw broken(where, "not an object");
  auto rule = std::make_shared<Rule>();
  for (const auto& [key, value] : schema.items()) {
    const std::string here = where + "/" + key;
    if (key == "$schema" || key == "title" || key == "description") continue;
    if (key == "$defs" && where.empty()) continue;
    if (key == "$ref") {
      rule->definition = definition_name(value, here);
    } else if (key == "type") {
      rule->types = type_names(value, here);
    } else if (key == "const") {
      rule->constant = value;
    } else if (key == "enum") {
      rule->values = value.get<std::vector<Json>>();
    } else if (key == "required") {
      rule->required = value.get<std::vector<std::string>>();
    } else if (key == "properties") {
      for (const auto& [name, property] : value.items())
        rule->properties[name] = compile(property, here + "/" + name);
      for (const auto& property : rule->properties) rule->property_names.push_back(property.first);
    } else if (key == "additionalProperties") {
      rule->additional = compile(value, here);
    } else if (key == "items") {
      rule->items = compile(value, here);
    } else if (key == "minItems") {
      rule->minimum_items = value.get<std::size_t>();
    } else if (key == "minLength") {
      rule->minimum_length = value.get<std::size_t>();
    } else if (key == "minimum") {
      rule->minimum = value;
    } else if (key == "exclusiveMinimum") {
      rule->exclusive_minimum = value;
    } else if (key == "maximum") {
      rule->maximum = value;
    } else if (key == "pattern") {
      rule->pattern_text = value.get<std::string>();
      rule->pattern.emplace(rule->pattern_text);
    } else {
      throw broken(here, "unknown keyword");
    }
  }
  return rule;
}

struct Schema::Walk {
  const Schema& schema;
  Findings findings;
  std::string pointer;

  bool fail(const Json& value, std::string expected) {
    findings.violation = Violation{pointer, describe(value), std::move(expected)};
    return false;
  }

  bool check(const Rule& rule, const Json& value) {
    if (!rule.definition.empty()) {
      const auto found = schema.definitions_.find(rule.definition);
      if (found == schema.definitions_.end())
        throw broken(pointer, "no definition " + rule.definition);
      return check(*found->second, value);
    }
    return check_value(rule, value) && (!value.is_number() || check_number(rule, value)) &&
           (!value.is_string() || check_string(rule, value)) &&
           (!value.is_array() || check_array(rule, value)) &&
           (!value.is_object() || check_object(rule, value));
  }

  bool check_value(const Rule& rule, const Json& value) {
    const bool fits = rule.types.empty() ||
                      std::any_of(rule.types.begin(), rule.types.end(),
                                  [&](const std::string& type) { return has_type(value, type); });
    if (!fits) {
      std::vector<std::string> types;
      for (const std::string& type : rule.types) types.push_back(article(type));
      return fail(value, joined(types));
    }
    if (rule.constant && *rule.constant != value) return fail(value, rule.constant->dump());
    if (!rule.values.empty() &&
        std::find(rule.values.begin(), rule.values.end(), value) == rule.values.end()) {
      std::vector<std::string> values;
      for (const Json& one : rule.values) values.push_back(one.dump());
      return fail(value, joined(values));
    }
    return true;
  }

  bool check_number(const Rule& rule, const Json& value) {
    const long double number = exact_number(value);
    if (!std::isfinite(number)) return fail(value, "a finite number");
    if (rule.minimum && number < exact_number(*rule.minimum))
      return fail(value, "at least " + rule.minimum->dump());
    if (rule.exclusive_minimum && number <= exact_number(*rule.exclusive_minimum))
      return fail(value, "more than " + rule.exclusive_minimum->dump());
    if (rule.maximum && number > exact_number(*rule.maximum))
      return fail(value, "at most " + rule.maximum->dump());
    return true;
  }

  bool check_string(const Rule& rule, const Json& value) {
    const auto& text = value.get_ref<const std::string&>();
    if (rule.minimum_length && code_points(text) < *rule.minimum_length)
      return fail(value, *rule.minimum_length == 1
                             ? std::string("some text")
                             : "at least " + std::to_string(*rule.minimum_length) + " characters");
    if (rule.pattern && !rule.pattern->matches(text))
      return fail(value, "text that matches " + rule.pattern_text);
    return true;
  }

  bool check_array(const Rule& rule, const Json& value) {
    if (rule.minimum_items && value.size() < *rule.minimum_items)
      return fail(value, "at least " + std::to_string(*rule.minimum_items) +
                             (*rule.minimum_items == 1 ? " value" : " values"));
    if (!rule.items) return true;
    const std::size_t length = pointer.size();
    for (std::size_t i = 0; i < value.size(); ++i) {
      pointer += "/" + std::to_string(i);
      if (!check(*rule.items, value[i])) return false;
      pointer.resize(length);
    }
    return true;
  }

  bool check_object(const Rule& rule, const Json& value) {
    for (const std::string& key : rule.required)
      if (!value.contains(key)) {
        findings.violation =
            Violation{pointer, "no \"" + key + "\"", "it, since this key is required"};
        return false;
      }
    const std::size_t length = pointer.size();
    for (const auto& [key, member] : value.items()) {
      pointer += escaped(key);
      const auto found = rule.properties.find(key);
      if (found != rule.properties.end()) {
        if (!check(*found->second, member)) return false;
      } else if (rule.additional) {
        if (!check(*rule.additional, member)) return false;
      } else if (!rule.properties.empty()) {
        warn(rule, key);
      }
      pointer.resize(length);
    }
    return true;
  }

  void warn(const Rule& rule, const std::string& key) {
    if (findings.warnings.size() >= kMaximumWarnings) return;
    const std::string_view* names = rule.property_names.data();
    const std::string near = nearest_name(key, names, names + rule.property_names.size());
    findings.warnings.push_back(pointer + ": unknown key " + describe(Json(key)) + " is ignored" +
                                (near.empty() ? "" : "; did you mean \"" + near + "\"?"));
  }
};

Findings Schema::validate(const Json& document) const {
  Walk walk{*this, {}, {}};
  walk.check(*root_, document);
  return std::move(walk.findings);
}

}  // namespace ddl::artifact
