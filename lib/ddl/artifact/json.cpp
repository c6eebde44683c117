#include "ddl/artifact/json.h"

#include "ddl/artifact/document.h"
#include "ddl/artifact/schema.h"
#include "ddl/base/file.h"
#include "ddl/base/log.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace ddl::artifact {
namespace {

// "line 3, column 17" of a byte position.
std::string place(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, std::min(position, text.size()));
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const std::size_t last = before.rfind('\n');
  const std::size_t column = last == std::string_view::npos ? before.size() : before.size() - last;
  return "line " + std::to_string(lines + 1) +
         (column > 0 ? ", column " + std::to_string(column) : std::string());
}

// nlohmann's message without its "[json.exception.…] parse error at line …: " head.
std::string parse_reason(std::string message) {
  if (const std::size_t colon = message.find(": "); colon != std::string::npos)
    message.erase(0, colon + 2);
  return message;
}

// Refuses duplicate keys and limits depth and object size while the text is parsed.
class Guard {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        if (depth >= kMaximumDepth)
          throw bad_input("nested deeper than " + std::to_string(kMaximumDepth) + " levels");
        if (event == Json::parse_event_t::object_start) keys_.emplace_back();
        break;
      case Json::parse_event_t::object_end:
        keys_.pop_back();
        break;
      case Json::parse_event_t::key: {
        const auto& key = parsed.get_ref<const std::string&>();
        if (!keys_.back().insert(key).second)
          throw bad_input("the key \"" + key + "\" stands twice in one object", "remove one");
        if (keys_.back().size() > kMaximumKeys)
          throw bad_input("an object has more than " + std::to_string(kMaximumKeys) + " keys");
        break;
      }
      default:
        break;
    }
    return true;
  }

 private:
  std::vector<std::unordered_set<std::string>> keys_;
};

}  // namespace

Json parse_json(std::string_view text, const std::filesystem::path& file) {
  try {
    if (text.size() > kMaximumBytes)
      throw bad_input("larger than " + std::to_string(kMaximumBytes) + " bytes");
    Guard guard;
    return Json::parse(text.begin(), text.end(),
                       [&guard](int depth, Json::parse_event_t event, Json& parsed) {
                         return guard(depth, event, parsed);
                       });
  } catch (const Json::parse_error& error) {
    throw bad_input("not JSON: " + parse_reason(error.what()))
        .with_file(file.string())
        .with_pointer(place(text, error.byte > 0 ? error.byte - 1 : 0));
  } catch (const Json::exception& error) {  // a number beyond double
    throw bad_input("not usable JSON: " + parse_reason(error.what())).with_file(file.string());
  } catch (Error& error) {
    throw error.with_file(file.string());
  }
}

Json new_document(std::string_view format) {
  Json document = Json::object();
  document["format"] = format;
  document["version"] = 1;
  return document;
}

Json parse_document(std::string_view format, std::string_view text,
                    const std::filesystem::path& file) {
  Json document = parse_json(text, file);
  for (const std::string& warning : check_document(format, document, file)) log_warning(warning);
  return document;
}

Json read_document(std::string_view format, const std::filesystem::path& file) {
  return parse_document(format, read_text(file, kMaximumBytes), file);
}

std::string document_text(std::string_view format, const Json& document,
                          const std::filesystem::path& file) {
  check_document(format, document, file);
  try {
    return document.dump(2) + "\n";
  } catch (const Json::exception& error) {
    throw bad_input("text that is not UTF-8 cannot be written: " + parse_reason(error.what()))
        .with_file(file.string());
  }
}

}  // namespace ddl::artifact
