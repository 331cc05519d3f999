// Keys made of records.
#include "codec/key_template.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

LogRecord record(Bytes key, Bytes value, Headers headers = {}) {
  return {Offset(0), timestamp_ms(0), std::move(key), std::move(value), std::move(headers)};
}

std::string filled(std::string_view text, const LogRecord& r) {
  RecordFields fields;
  const auto parsed = KeyTemplate::parse(text);
  return parsed ? parsed->fill(r, fields).value_or("(none)") : "(" + parsed.error() + ")";
}

TEST(KeyTemplate, PlacesAreFilledFromValueHeadersAndKey) {
  const LogRecord r =
      record("k1", R"({"ticket_id":"t-\u00e9","n":{"a/b":7},"ok":true})", {{"x", "first"}, {"x", "second"}});
  EXPECT_EQ(filled("ticket:retry_count:{/ticket_id}", r), "ticket:retry_count:t-é");
  EXPECT_EQ(filled("{/n/a~1b}/{/ok}", r), "7/true");
  EXPECT_EQ(filled("{header:x}:{key}", r), "first:k1");
  EXPECT_EQ(filled("{key}{key}", r), "k1k1");
}

TEST(KeyTemplate, WhatLacksAFieldHasNoKey) {
  EXPECT_EQ(filled("a{/id}", record("k", R"({"other":1})")), "(none)");
  EXPECT_EQ(filled("a{/id}", record("k", R"({"id":null})")), "(none)");
  EXPECT_EQ(filled("a{/id}", record("k", R"({"id":{}})")), "(none)");
  EXPECT_EQ(filled("a{/id}", record("k", R"({"id":""})")), "(none)");
  EXPECT_EQ(filled("a{/id}", record("k", "no json")), "(none)");
  EXPECT_EQ(filled("a{/id}", record("k", Bytes())), "(none)");
  EXPECT_EQ(filled("a{key}", record(Bytes(), "{}")), "(none)");
  EXPECT_EQ(filled("a{header:x}", record("k", "{}", {{"x", Bytes()}})), "(none)");
}

TEST(KeyTemplate, AKeyHasABoundedLength) {
  const std::string longest(kMaxFilledKey - 2, 'x');
  EXPECT_EQ(filled("a:{key}", record(std::string_view(longest), "{}")).size(), kMaxFilledKey);
  EXPECT_EQ(filled("a:{key}", record(std::string_view(longest + "x"), "{}")), "(none)");
}

TEST(KeyTemplate, MistakesAreNamed) {
  const LogRecord r = record("k", "{}");
  EXPECT_EQ(filled("a{key", r), "(has a { without })");
  EXPECT_EQ(filled("a}", r), "(has a } without {)");
  EXPECT_EQ(filled("a", r), "(is the same for all messages; put {/json/pointer}, {header:NAME} or {key} in)");
  EXPECT_EQ(filled("", r), "(is the same for all messages; put {/json/pointer}, {header:NAME} or {key} in)");
  for (const char* wrong : {"{}", "{id}", "{header:}", "{/a~2}", "{Key}"})
    EXPECT_TRUE(filled(wrong, r).contains("there are {/json/pointer}")) << wrong;
  std::string many;
  for (int i = 0; i < 33; ++i) many += "{key}";
  EXPECT_EQ(filled(many, r), "(has more than 32 parts)");
}

}  // namespace
}  // namespace bartleby
