// Who may do what, where a real server would need more than one machine: networks, the internal key, answers under way.
#include "server/access.h"

#include <gtest/gtest.h>

#include "adapters/store/sqlite/sqlite_store.h"
#include "server/idempotency.h"
#include "tests/support/scratch_folder.h"

namespace bartleby {
namespace {

// Wound by hand.
class HandClock : public Clock {
 public:
  Now now() const override { return {Instant(passed_), timestamp_ms(1736935800000) + passed_}; }
  std::chrono::microseconds real(Duration span) const override { return span; }
  void advance(Duration by) { passed_ += by; }

 private:
  Duration passed_{1000};
};

Response answer(int status, std::string body) {
  Response response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

AccessOptions with_internal_key() {
  AccessOptions options;
  options.internal = InternalOptions{"the key", {*parse_network("172.18.0.0/16")}};
  options.trusted_proxies = {*parse_network("10.0.0.1")};
  return options;
}

class InternalKey : public testing::Test {
 protected:
  // 200, or the status of the refusal.
  int ask(std::string path, std::string peer, std::vector<std::pair<std::string, std::string>> headers) {
    request_ = {};
    request_.method = "POST";
    request_.path = std::move(path);
    request_.peer = std::move(peer);
    request_.headers = std::move(headers);
    const auto refused = access_.admit(request_, Scope::kReplay);
    return refused ? refused->status : 200;
  }

  HandClock clock_;
  AccessControl access_{with_internal_key(), nullptr, clock_};
  Request request_;
};

constexpr const char* kReplay = "/internal/v1/dlq/replay";

TEST_F(InternalKey, IsAskedBeforeTheNetwork) {
  EXPECT_EQ(ask(kReplay, "172.18.0.9", {{"x-internal-api-key", "the key"}}), 200);
  EXPECT_EQ(request_.caller.name, "internal");
  EXPECT_TRUE(request_.caller.may(Scope::kDiscard));
  EXPECT_FALSE(request_.caller.may(Scope::kPayload));
  EXPECT_FALSE(request_.caller.may(Scope::kAdmin));
  EXPECT_EQ(ask(kReplay, "172.18.0.9", {{"x-internal-api-key", "a key"}}), 401);
  EXPECT_EQ(ask(kReplay, "192.168.0.9", {{"x-internal-api-key", "a key"}}), 401);
  EXPECT_EQ(ask(kReplay, "192.168.0.9", {{"x-internal-api-key", "the key"}}), 403);
  EXPECT_EQ(ask(kReplay, "172.18.0.9", {}), 401);
  EXPECT_EQ(access_.failures(AuthFailure::kWrong), 2U);
  EXPECT_EQ(access_.failures(AuthFailure::kNetwork), 1U);
  EXPECT_EQ(access_.failures(AuthFailure::kMissing), 1U);
}

TEST_F(InternalKey, SaidTwiceIsWrong) {
  EXPECT_EQ(ask(kReplay, "172.18.0.9", {{"x-internal-api-key", "the key"}, {"x-internal-api-key", "the key"}}), 401);
}

TEST_F(InternalKey, IsForItsRoutesAlone) {
  EXPECT_EQ(ask("/api/v1/operations", "192.168.0.9", {{"x-internal-api-key", "a key"}}), 200);
  EXPECT_EQ(request_.caller.name, "local");
}

TEST_F(InternalKey, SeesTheClientThroughATrustedProxyOnly) {
  const std::pair<std::string, std::string> key{"x-internal-api-key", "the key"};
  EXPECT_EQ(ask(kReplay, "10.0.0.1", {key, {"x-forwarded-for", "172.18.0.9"}}), 200);
  EXPECT_EQ(ask(kReplay, "10.0.0.1", {key, {"x-forwarded-for", "172.18.0.9, 6.6.6.6"}}), 403);
  EXPECT_EQ(ask(kReplay, "10.0.0.2", {key, {"x-forwarded-for", "172.18.0.9"}}), 403);
  EXPECT_EQ(ask(kReplay, "10.0.0.1", {key, {"x-forwarded-for", "172.18.0.9"}, {"x-forwarded-for", "bad"}}), 403);
  EXPECT_EQ(ask(kReplay, "10.0.0.1", {key}), 403);  // the proxy itself is not in the network
}

TEST_F(InternalKey, GuessingIsSlowedDown) {
  int refused = 0;
  for (int i = 0; i < 30; ++i) refused += ask(kReplay, "172.18.0.9", {{"x-internal-api-key", "a key"}}) == 401 ? 1 : 0;
  EXPECT_EQ(refused, 20);
  EXPECT_EQ(ask(kReplay, "172.18.0.9", {{"x-internal-api-key", "the key"}}), 429);
  EXPECT_EQ(ask(kReplay, "172.18.0.8", {{"x-internal-api-key", "the key"}}), 200);
  clock_.advance(std::chrono::seconds(6));
  EXPECT_EQ(ask(kReplay, "172.18.0.9", {{"x-internal-api-key", "the key"}}), 200);
}

TEST_F(InternalKey, WrongTokensCountByAddressAndChannelAndMissingOnesDoNot) {
  Request request;
  request.peer = "172.18.0.9";
  for (int i = 0; i < 50; ++i) EXPECT_EQ(access_.no_token("this needs a token").status, 403);
  EXPECT_EQ(access_.failures(AuthFailure::kMissing), 50U);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(access_.wrong_token(request, "orders", "wrong").status, 403);
  EXPECT_EQ(access_.wrong_token(request, "orders", "wrong").status, 429);
  EXPECT_EQ(access_.wrong_token(request, "mails", "wrong").status, 403);
  EXPECT_EQ(ask(kReplay, "172.18.0.9", {{"x-internal-api-key", "the key"}}), 200) << "keys are counted apart";
  request.peer = "172.18.0.8";
  EXPECT_EQ(access_.wrong_token(request, "orders", "wrong").status, 403);
}

class UnderWay : public testing::Test {
 protected:
  UnderWay() {
    auto store = sqlite_store::SqliteStore::open({.folder = folder_.path()});
    store_ = std::move(store.value());
    answers_ = std::make_unique<KeptAnswers>(*store_, clock_, log_);
    request_.method = "POST";
    request_.path = "/x";
    request_.headers = {{"idempotency-key", "k"}};
  }

  support::ScratchFolder folder_;
  HandClock clock_;
  Log log_{LogFormat::kText, LogLevel::kError};
  std::unique_ptr<Store> store_;
  std::unique_ptr<KeptAnswers> answers_;
  Request request_;
  Route route_{"POST", "/x", {.access = Access::open()}, {}, {}};
};

TEST_F(UnderWay, TheSameKeyIsAConflictUntilTheAnswerIsThere) {
  std::optional<Response> heard;
  Respond first = [&](Response response) { heard = std::move(response); };
  ASSERT_FALSE(answers_->begin(request_, route_, first));
  Respond second = [](Response) { FAIL(); };
  EXPECT_EQ(answers_->begin(request_, route_, second)->status, 409);
  Response made = answer(201, "made");
  made.headers.emplace_back("Location", "/x/1");
  first(std::move(made));
  ASSERT_TRUE(heard);
  const auto again = answers_->begin(request_, route_, second);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->status, 201);
  EXPECT_EQ(again->body, "made");
  EXPECT_EQ(again->headers.front(), (std::pair<std::string, std::string>("Location", "/x/1")));
}

TEST_F(UnderWay, AKeyIsFreeAgainWhenNobodyAnswered) {
  {
    Respond dropped = [](Response) {};
    ASSERT_FALSE(answers_->begin(request_, route_, dropped));
  }
  Respond next = [](Response) {};
  EXPECT_FALSE(answers_->begin(request_, route_, next));
}

TEST_F(UnderWay, WhoeverIsKnownByTokensAloneHasKeysOfTheirOwn) {
  request_.caller.name = "anonymous";
  request_.headers.emplace_back("x-broker-channel-token", "token of one");
  Respond first = [](Response) {};
  ASSERT_FALSE(answers_->begin(request_, route_, first));
  first(answer(201, "one"));
  Request other = request_;
  other.headers.back().second = "token of another";
  other.body = "another message";
  std::optional<Response> heard;
  Respond second = [&](Response response) { heard = std::move(response); };
  ASSERT_FALSE(answers_->begin(other, route_, second));
  second(answer(201, "two"));
  Respond again = [](Response) { FAIL(); };
  EXPECT_EQ(answers_->begin(request_, route_, again)->body, "one");
  EXPECT_EQ(answers_->begin(other, route_, again)->body, "two");
}

TEST_F(UnderWay, AnswersAreForgottenAfterADay) {
  Respond first = [](Response) {};
  ASSERT_FALSE(answers_->begin(request_, route_, first));
  first(answer(200, "done"));
  clock_.advance(std::chrono::hours(25));
  Respond next = [](Response) {};
  EXPECT_FALSE(answers_->begin(request_, route_, next));
}

TEST_F(UnderWay, WhatIsTooLargeIsAnsweredAndNotKept) {
  std::optional<Response> heard;
  Respond first = [&](Response response) { heard = std::move(response); };
  ASSERT_FALSE(answers_->begin(request_, route_, first));
  std::string noise;
  for (std::uint64_t n = 1; noise.size() < (std::size_t{1} << 17);
       n = n * 6364136223846793005ULL + 1442695040888963407ULL)
    noise += static_cast<char>(n >> 56);
  first(answer(200, noise));
  EXPECT_EQ(heard->body, noise);
  EXPECT_EQ(heard->headers.back().first, "Bartleby-Answer-Kept");
}

}  // namespace
}  // namespace bartleby
