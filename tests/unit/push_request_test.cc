#include "adapters/handler/http/push_request.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "codec/base64.h"
#include "tests/support/attempts.h"

namespace bartleby {
namespace {

using test::make_attempt;
using test::plain_record;

constexpr Timestamp kNow = timestamp_ms(1736937000999);

std::vector<std::string> lines(const AttemptIn& attempt, const PushStyle& style = {}) {
  auto headers = push_headers(attempt, style, kNow);
  EXPECT_TRUE(headers);
  std::vector<std::string> all;
  if (headers)
    for (std::size_t at = 0; at < headers->size(); at += all.back().size() + 1) all.emplace_back(headers->c_str() + at);
  return all;
}

std::string value_of(const std::vector<std::string>& all, std::string_view name) {
  for (const std::string& line : all)
    if (line.starts_with(std::string(name) + ": ")) return line.substr(name.size() + 2);
  return "(none)";
}

std::string headers_json(const std::vector<std::string>& all) {
  std::string text = value_of(all, "Bartleby-Headers");
  std::ranges::replace(text, '-', '+');
  std::ranges::replace(text, '_', '/');
  std::string json;
  EXPECT_TRUE(append_from_base64(json, text, Base64::kBare));
  return json;
}

TEST(PushRequest, SaysEverythingAboutTheAttempt) {
  const auto attempt = make_attempt();
  attempt->replay_of = "ltr_x";
  const auto signer = WebhookSigner::make("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  PushStyle style;
  style.signer = &*signer;
  style.headers = {{"X-Broker-Channel-ID", "orders"}};
  EXPECT_EQ(lines(*attempt, style),
            (std::vector<std::string>{
                "webhook-id: msg_abcdefghijklmnopqrstuvwxyz",
                "webhook-timestamp: 1736937000",
                "webhook-signature: " + signer->sign(attempt->message_id(), 1736937000, R"({"amount":5})"),
                "Idempotency-Key: payout:550e",
                "Bartleby-Worker: payout-executor",
                "Bartleby-Group: cg-payout-executor",
                "Bartleby-Topic: escrow.commands",
                "Bartleby-Partition: 3",
                "Bartleby-Offset: 12345",
                "Bartleby-Timestamp: 2025-01-15T10:30:00.000Z",
                "Bartleby-Attempt: 2",
                "Bartleby-Max-Attempts: 6",
                "Bartleby-Deadline: 2025-01-15T10:30:30.000Z",
                "Bartleby-Attempt-Token: at_aaaaaaaaaaaaaaaaaaaaaaaaaa",
                "Bartleby-Key: deal_550e8400",
                "Bartleby-Replay-Of: ltr_x",
                "Bartleby-Headers: W10",
                "Content-Type: application/octet-stream",
                "X-Broker-Channel-ID: orders",
                "Expect:",
                "Accept:"}));
}

TEST(PushRequest, TellsNullFromEmpty) {
  LogRecord record = plain_record();
  record.key = std::nullopt;
  record.value = std::nullopt;
  const auto none = lines(*make_attempt(record));
  EXPECT_EQ(value_of(none, "Bartleby-Null"), "true");
  EXPECT_EQ(value_of(none, "Bartleby-Key"), "(none)");
  record.key = "";
  record.value = "";
  const auto empty = lines(*make_attempt(record));
  EXPECT_EQ(value_of(empty, "Bartleby-Null"), "(none)");
  EXPECT_TRUE(std::ranges::find(empty, "Bartleby-Key;") != empty.end());  // libcurl's way to write an empty one
}

TEST(PushRequest, CarriesAllHeadersByteForByte) {
  LogRecord record = plain_record();
  record.headers = {{"a", "1"}, {"b", std::nullopt}, {"a", std::string("\xff\0\r\n", 4)}, {"", ""}, {"\xfe", "x"}};
  EXPECT_EQ(headers_json(lines(*make_attempt(record))),
            R"([["a","MQ=="],["b",null],["a","/wANCg=="],["",""],[{"base64":"/g=="},"eA=="]])");
}

TEST(PushRequest, CopiesTracesAndCloudEventsByName) {
  LogRecord record = plain_record();
  record.headers = {{"traceparent", "00-first"},
                    {"TraceParent", "00-last"},
                    {"tracestate", "a=b"},
                    {"ce-type", "t"},
                    {"CE-Id", "7"},
                    {"ce-", "x"},
                    {"other", "not copied"},
                    {"x-mine", "1"},
                    {"Content-Type", "text/x"},
                    {"ce-empty", ""},
                    {"ce-null", std::nullopt}};
  PushStyle style;
  style.copy = {"x-mine"};
  const auto all = lines(*make_attempt(record), style);
  EXPECT_EQ(value_of(all, "traceparent"), "00-last");
  EXPECT_EQ(value_of(all, "tracestate"), "a=b");
  EXPECT_EQ(value_of(all, "ce-type"), "t");
  EXPECT_EQ(value_of(all, "ce-id"), "7");
  EXPECT_EQ(value_of(all, "x-mine"), "1");
  EXPECT_EQ(value_of(all, "Content-Type"), "text/x");
  EXPECT_EQ(std::ranges::count_if(all, [](const std::string& l) { return l.starts_with("ce-"); }), 2);
  EXPECT_EQ(value_of(all, "other"), "(none)");
}

TEST(PushRequest, NoByteOfARecordStartsAHeaderOfItsOwn) {
  const std::string evil = "x\r\nEvil: 1";
  LogRecord record = plain_record();
  record.key = evil + std::string("\0\x7f\xff %", 5);
  record.headers = {{"traceparent", evil}, {"ce-a\r\nEvil", "1"}, {"ce-b: 1\r\nEvil", "1"},   {"ce-c", "tab\t"},
                    {"ce-d", "\xc3\xa9"},  {"ce-e", "nul\0"},     {"content-type", evil},     {"ce-f", " blank"},
                    {"ce-g:", "1"},        {"ce-h", "1;"},        {"ce-i", std::string(1, 0)}};
  const auto attempt = make_attempt(record);
  attempt->configured_key = evil;
  attempt->id = evil;
  attempt->names = std::make_shared<const AttemptIn::Names>(evil, evil, evil);
  attempt->tp.topic = attempt->token = evil;
  attempt->replay_of = evil;
  const auto all = lines(*attempt);
  for (const std::string& line : all) {
    EXPECT_TRUE(std::ranges::all_of(line, [](char c) { return c >= ' ' && c < 0x7f; })) << line;
    EXPECT_FALSE(line.starts_with("Evil")) << line;
  }
  EXPECT_EQ(value_of(all, "Bartleby-Key"), "x%0D%0AEvil%3A%201%00%7F%FF%20%25");
  EXPECT_EQ(value_of(all, "Idempotency-Key"), "x%0D%0AEvil:%201");
  EXPECT_EQ(value_of(all, "Content-Type"), "application/octet-stream");
  EXPECT_EQ(value_of(all, "traceparent"), "(none)");
  EXPECT_EQ(std::ranges::count_if(all, [](const std::string& l) { return l.starts_with("ce-"); }), 2);  // e, h
}

TEST(PushRequest, TwoIdempotencyKeysNeverBecomeOne) {
  const auto key = [](std::string text) {
    const auto attempt = make_attempt();
    attempt->configured_key = std::move(text);
    return value_of(lines(*attempt), "Idempotency-Key");
  };
  EXPECT_NE(key("a\r"), key("a%0D"));
  EXPECT_NE(key("a"), key("a "));
  EXPECT_EQ(key(""), "msg_abcdefghijklmnopqrstuvwxyz");
}

TEST(PushRequest, RefusesMoreHeadersThanCanBeSent) {
  LogRecord record = plain_record();
  record.headers = {{"big", std::string(kMaxPushHeaders, 'x')}};
  EXPECT_FALSE(push_headers(*make_attempt(record), {}, kNow));
}

}  // namespace
}  // namespace bartleby
