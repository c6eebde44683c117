// JSON text, schemas and their errors.
#include "ddl/artifact/document.h"

#include "ddl/artifact/json.h"
#include "ddl/artifact/schema.h"
#include "ddl/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddl::artifact {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string message(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    return error.what();
  }
  return "no error";
}
std::string parse_message(const std::string& text) {
  return message([&] { parse_json(text, "a.json"); });
}
std::string schema_message(const std::string& schema, const std::string& text) {
  const Findings findings = Schema(schema).validate(parse_json(text, "a.json"));
  if (!findings.violation) return "valid";
  return findings.violation->pointer + ": " + findings.violation->found + ", expected " +
         findings.violation->expected;
}

TEST(Json, SaysWhereItIsBroken) {
  EXPECT_THAT(
      parse_message("{\n  \"a\": 1,\n  \"b\" 2}"),
      AllOf(HasSubstr("a.json: line 3, column 7: not JSON"), ::testing::Not(HasSubstr("["))));
  EXPECT_THAT(parse_message(""), HasSubstr("not JSON"));
  EXPECT_THAT(parse_message("{\"a\": NaN}"), HasSubstr("not JSON"));
  EXPECT_THAT(parse_message("{\"a\": 1e999}"), HasSubstr("a.json"));
  EXPECT_THAT(parse_message("{} {}"), HasSubstr("not JSON"));
  EXPECT_THAT(parse_message("{\"a\": \"\xff\"}"), HasSubstr("not JSON"));
}

TEST(Json, RefusesDuplicateKeysDepthAndHugeObjects) {
  EXPECT_THAT(parse_message(R"({"a": {"b": 1, "b": 2}})"), HasSubstr("\"b\" stands twice"));
  EXPECT_EQ(parse_message(R"({"a": {"b": 1}, "c": {"b": 2}})"), "no error");
  EXPECT_THAT(parse_message(std::string(100000, '[')), HasSubstr("nested deeper than 64"));
  EXPECT_EQ(parse_message(std::string(64, '[') + std::string(64, ']')), "no error");
  std::string many = "{";
  for (int i = 0; i < 5000; ++i) many += "\"" + std::to_string(i) + "\":0,";
  EXPECT_THAT(parse_message(many + "\"x\":0}"), HasSubstr("more than 4096 keys"));
}

TEST(Schema, ChecksWhatItSays) {
  EXPECT_EQ(schema_message(R"({"type": "integer", "minimum": 1, "maximum": 9})", "3.0"), "valid");
  EXPECT_EQ(schema_message(R"({"type": "integer"})", "3.5"), ": 3.5, expected an integer");
  EXPECT_EQ(schema_message(R"({"type": "integer"})", "true"), ": true, expected an integer");
  EXPECT_EQ(schema_message(R"({"minimum": 1})", "0"), ": 0, expected at least 1");
  EXPECT_EQ(schema_message(R"({"maximum": 9})", "9.5"), ": 9.5, expected at most 9");
  EXPECT_EQ(schema_message(R"({"exclusiveMinimum": 0})", "0"), ": 0, expected more than 0");
  // Exact where doubles are not.
  EXPECT_EQ(schema_message(R"({"maximum": 9007199254740992})", "9007199254740993"),
            ": 9007199254740993, expected at most 9007199254740992");
  EXPECT_EQ(schema_message(R"({"maximum": 18446744073709551615})", "18446744073709551616"),
            ": 1.8446744073709552e+19, expected at most 18446744073709551615");
  EXPECT_EQ(schema_message(R"({"type": ["number", "null"]})", "\"x\""),
            ": \"x\", expected a number or null");
  EXPECT_EQ(schema_message(R"({"enum": ["a", "b"]})", "\"c\""), ": \"c\", expected \"a\" or \"b\"");
  EXPECT_EQ(schema_message(R"({"const": 1})", "1.0"), "valid");
  EXPECT_EQ(schema_message(R"({"minLength": 1})", "\"\""), ": \"\", expected some text");
  EXPECT_EQ(schema_message(R"({"items": {"type": "null"}, "minItems": 1})", "[null, 1]"),
            "/1: 1, expected null");
  EXPECT_EQ(schema_message(R"({"minItems": 1})", "[]"),
            ": an array of 0 values, expected at least 1 value");
  EXPECT_EQ(schema_message(R"({"required": ["a"]})", "{}"),
            ": no \"a\", expected it, since this key is required");
  EXPECT_EQ(schema_message(R"({"additionalProperties": {"type": "string"}})", R"({"a/b~c": 1})"),
            "/a~1b~0c: 1, expected a string");
  EXPECT_EQ(schema_message(
                R"({"properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"const": 1}}})",
                R"({"a": 2})"),
            "/a: 2, expected 1");
}

TEST(Schema, WarnsOfUnknownKeysWithTheNearest) {
  const Schema schema(R"({"properties": {"learning_rate": {}, "momentum": {}}})");
  EXPECT_THAT(schema.validate(parse_json(R"({"learnig_rate": 1, "zzz": 2})", "")).warnings,
              ElementsAre("/learnig_rate: unknown key \"learnig_rate\" is ignored; did you mean "
                          "\"learning_rate\"?",
                          "/zzz: unknown key \"zzz\" is ignored"));
}

TEST(Schema, RefusesKeywordsThatItDoesNotExecute) {
  for (const char* text : {R"({"maxLength": 3})", R"({"properties": {"a": {"oneOf": []}}})",
                           R"({"items": {"not": {}}})", R"({"$defs": {"x": {"format": "date"}}})",
                           R"({"type": "text"})", R"({"pattern": "a|b"})",
                           R"({"$ref": "other.json"})", R"({"additionalProperties": false})"})
    EXPECT_THROW(Schema{text}, Error) << text;
}

TEST(Schema, Patterns) {
  const Pattern hash("^([0-9a-f]{4})?$");
  EXPECT_TRUE(hash.matches("") && hash.matches("0af9"));
  for (const char* text : {"0af", "0af99", "0aF9", "0af\n", " 0af9"})
    EXPECT_FALSE(hash.matches(text));
  const Pattern word("^x[a-c]*-?[0-9]{1,2}$");
  EXPECT_TRUE(word.matches("xabc-12") && word.matches("x1"));
  EXPECT_FALSE(word.matches("x") || word.matches("xd1") || word.matches("x123"));
}

TEST(Artifact, HeadsAreCheckedFirst) {
  const auto said = [](const std::string& text) {
    return message([&] { validate_artifact("ddl-plan", text, "p.json"); });
  };
  EXPECT_THAT(said(R"({"format": "ddl-run", "version": 1})"),
              HasSubstr("p.json: /format: found \"ddl-run\", expected \"ddl-plan\""));
  EXPECT_THAT(said(R"({"format": "ddl-plan", "version": 2, "new": 1})"),
              HasSubstr("p.json: /version: found version 2, this ddl reads version 1"));
  EXPECT_THAT(said("[]"), HasSubstr("p.json: found an array"));
  EXPECT_THAT(said("{}"), HasSubstr("no \"format\""));
  EXPECT_THAT(message([] { validate_artifact("ddl-plna", "{}", "p.json"); }),
              HasSubstr("did you mean \"ddl-plan\"?"));
}

TEST(Artifact, EverySchemaIsPublished) {
  EXPECT_THAT(artifact_formats(),
              ElementsAre("ddl-dataset", "ddl-cluster", "ddl-plan", "ddl-run", "ddl-checkpoint"));
  for (const std::string_view format : artifact_formats())
    EXPECT_THAT(std::string(artifact_schema(format)), HasSubstr("2020-12"));
}

}  // namespace
}  // namespace ddl::artifact
