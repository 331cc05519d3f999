// Keys, sessions and kept answers on every store.
#include "office/kept_answers.h"
#include "office/keys.h"
#include "tests/contract/store_contract.h"

namespace bartleby::contract {
namespace {

const Actor kRoot{"root", "a test", "r1"};

// What a statement answers inside a transaction; an error fails the test.
template <class T>
T done(Store& store, const std::function<Result<T>(Connection&)>& work) {
  std::optional<T> out;
  const auto written = store.write([&](Connection& c) -> Result<void> {
    auto answer = work(c);
    if (!answer) return std::unexpected(answer.error());
    out = std::move(*answer);
    return {};
  });
  EXPECT_TRUE(written) << written.error().message;
  return out ? std::move(*out) : T{};
}

using Made = std::pair<ApiKey, std::string>;

Made made(Store& store, const std::string& name, Timestamp now, std::optional<Timestamp> expires = {}) {
  return done<Made>(store, [&](Connection& c) {
    return make_key(c, {name, "operator", Scopes{Scope::kRead, Scope::kReplay}, expires}, kRoot, now);
  });
}

FoundKey found(Store& store, std::string_view secret, Timestamp now) {
  return done<FoundKey>(store, [&](Connection& c) { return find_key(c, secret, now); });
}

FoundKey in_session(Store& store, std::string_view cookie, Timestamp now) {
  return done<FoundKey>(store, [&](Connection& c) { return find_session(c, cookie, now); });
}

TEST_P(StoreContract, AKeyIsFoundByItsSecretAloneAndTheSecretIsNotKept) {
  const auto [key, secret] = made(store(), "ann", now_);
  reopen();
  const FoundKey good = found(store(), secret, now_);
  EXPECT_EQ(good.state, KeyState::kGood);
  EXPECT_EQ(good.key.id, key.id);
  EXPECT_EQ(good.key.name, "ann");
  EXPECT_EQ(good.key.role, "operator");
  EXPECT_EQ(good.key.scopes, (Scopes{Scope::kRead, Scope::kReplay}));
  EXPECT_EQ(good.key.created_by, "root");
  for (const std::string& wrong : {key.id, key.id + "_", secret + "x", secret.substr(1), std::string("bk_"),
                                   std::string(), std::string(100000, 'b')})
    EXPECT_EQ(found(store(), wrong, now_).state, KeyState::kWrong) << wrong.substr(0, 40);
  const std::string kept = text("SELECT hash FROM keys") + text("SELECT id || name || role || created_by FROM keys");
  EXPECT_FALSE(kept.contains(secret.substr(key.id.size())));
  EXPECT_EQ(text("SELECT action || ' ' || subject || ' ' || actor FROM audit_log"), "make-key " + key.id + " root");
}

TEST_P(StoreContract, AKeyEndsWhenItIsRevokedOrItsTimeIsOver) {
  const auto [brief, secret] = made(store(), "brief", now_, now_ + Duration(1000));
  EXPECT_EQ(found(store(), secret, now_ + Duration(999)).state, KeyState::kGood);
  EXPECT_EQ(found(store(), secret, now_ + Duration(1000)).state, KeyState::kExpired);
  const auto [key, other] = made(store(), "ann", now_);
  const auto revoke = [&](const std::string& id) {
    return done<std::optional<ApiKey>>(store(), [&](Connection& c) { return revoke_key(c, id, kRoot, now_); });
  };
  EXPECT_FALSE(revoke("bk_nobody"));
  EXPECT_EQ(revoke(key.id)->revoked_at, now_);
  EXPECT_EQ(revoke(key.id)->revoked_at, now_);
  EXPECT_EQ(found(store(), other, now_).state, KeyState::kRevoked);
  EXPECT_EQ(number("SELECT count(*) FROM audit_log WHERE action = 'revoke-key'"), 1) << "done twice, it changes once";
  EXPECT_EQ(done<std::vector<ApiKey>>(store(), all_keys).size(), 2U) << "the list keeps what has ended";
}

TEST_P(StoreContract, ANameMeansOneKeyAtATime) {
  const auto [key, secret] = made(store(), "ann", now_, now_ + Duration(1000));
  const auto again = [&](Timestamp now) {
    return store().write([&](Connection& c) -> Result<void> {
      const auto made_again = make_key(c, {"ann", "", {}, {}}, kRoot, now);
      return made_again ? Result<void>() : std::unexpected(made_again.error());
    });
  };
  const auto refused = again(now_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(refused.error().message.contains(key.id));
  EXPECT_TRUE(again(now_ + Duration(1000))) << "the first has ended";
}

TEST_P(StoreContract, KeysAreBoundedAndThoseThatHaveEndedGiveWay) {
  for (std::int64_t i = 0; i < kMostKeys; i += 100)
    write([&](Connection& c) -> Result<void> {
      for (std::int64_t n = i; n < i + 100; ++n) {
        const std::optional<Timestamp> ends = n == 7 ? std::optional(now_ + Duration(5)) : std::nullopt;
        const auto one = make_key(c, {"key" + std::to_string(n), "", {}, ends}, kRoot, now_);
        if (!one) return std::unexpected(one.error());
      }
      return {};
    });
  const auto more = [&](const std::string& name, Timestamp now) {
    return store().write([&](Connection& c) -> Result<void> {
      const auto one = make_key(c, {name, "", {}, {}}, kRoot, now);
      return one ? Result<void>() : std::unexpected(one.error());
    });
  };
  const auto refused = more("one more", now_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_TRUE(more("one more", now_ + Duration(5)));
  EXPECT_EQ(number("SELECT count(*) FROM keys"), kMostKeys);
  EXPECT_EQ(number("SELECT count(*) FROM keys WHERE name = 'key7'"), 0);
  EXPECT_FALSE(more("another", now_ + Duration(5)));
}

TEST_P(StoreContract, ASessionEndsWithItsKeyItsTimeOrByHand) {
  const auto [key, secret] = made(store(), "ann", now_);
  const auto open = [&] {
    return done<std::string>(store(), [&](Connection& c) { return make_session(c, key, "req", now_); });
  };
  const std::string first = open(), second = open();
  ASSERT_NE(first, second);
  EXPECT_EQ(in_session(store(), first, now_).key.id, key.id);
  EXPECT_EQ(in_session(store(), first, now_ + kSessionTime).state, KeyState::kWrong);
  EXPECT_EQ(in_session(store(), first + "x", now_).state, KeyState::kWrong);
  EXPECT_EQ(in_session(store(), "", now_).state, KeyState::kWrong);
  write([&](Connection& c) { return end_session(c, first, "req", now_); });
  write([&](Connection& c) { return end_session(c, first, "req", now_); });
  EXPECT_EQ(number("SELECT count(*) FROM audit_log WHERE action = 'log_out' AND request_id = 'req'"), 1);
  EXPECT_GT(number("SELECT count(*) FROM audit_log WHERE action = 'log_in'"), 0);
  EXPECT_EQ(in_session(store(), first, now_).state, KeyState::kWrong);
  EXPECT_EQ(in_session(store(), second, now_).state, KeyState::kGood);
  done<std::optional<ApiKey>>(store(), [&](Connection& c) { return revoke_key(c, key.id, kRoot, now_); });
  EXPECT_EQ(in_session(store(), second, now_).state, KeyState::kWrong);
  EXPECT_EQ(number("SELECT count(*) FROM sessions"), 0);
}

TEST_P(StoreContract, SessionsAreBoundedAndTheOldestGiveWay) {
  const auto [key, secret] = made(store(), "ann", now_);
  std::string first, last;
  write([&](Connection& c) -> Result<void> {
    for (std::int64_t n = 0; n <= kMostSessions; ++n) {
      auto cookie = make_session(c, key, "", now_ + Duration(n));
      if (!cookie) return std::unexpected(cookie.error());
      (n == 0 ? first : last) = *cookie;
    }
    return {};
  });
  EXPECT_EQ(number("SELECT count(*) FROM sessions"), kMostSessions);
  EXPECT_EQ(in_session(store(), first, now_).state, KeyState::kWrong);
  EXPECT_EQ(in_session(store(), last, now_).state, KeyState::kGood);
}

TEST_P(StoreContract, AnAnswerIsKeptForItsActorAndKeyUntilItIsOld) {
  const std::string bytes("\0\xff body", 7);
  const KeptAnswer answer{std::string(32, '\1'), 201, "application/json", "{\"Location\":\"/x\"}", bytes};
  const Timestamp since = now_ - Duration(60000);
  write([&](Connection& c) { return keep_answer(c, "ann", "k1", answer, now_, since); });
  reopen();
  const auto look = [&](std::string_view actor, std::string_view key, Timestamp from) {
    return done<std::optional<KeptAnswer>>(store(), [&](Connection& c) { return find_answer(c, actor, key, from); });
  };
  const auto same = look("ann", "k1", since);
  ASSERT_TRUE(same);
  EXPECT_EQ(same->request, answer.request);
  EXPECT_EQ(same->status, 201);
  EXPECT_EQ(same->type, answer.type);
  EXPECT_EQ(same->headers, answer.headers);
  EXPECT_EQ(same->body, bytes);
  EXPECT_FALSE(look("bob", "k1", since)) << "another caller's key is another key";
  EXPECT_FALSE(look("ann", "k2", since));
  EXPECT_FALSE(look("ann", "k1", now_)) << "too old";
  KeptAnswer second = answer;
  second.status = 202;
  write([&](Connection& c) { return keep_answer(c, "ann", "k1", second, now_ + Duration(1), since); });
  EXPECT_EQ(look("ann", "k1", since)->status, 202);
  EXPECT_EQ(number("SELECT count(*) FROM answers"), 1);
  write([&](Connection& c) { return keep_answer(c, "ann", "k3", answer, now_ + Duration(2), now_ + Duration(1)); });
  EXPECT_EQ(text("SELECT key FROM answers"), "k3") << "what is old goes when something new comes";
}

}  // namespace
}  // namespace bartleby::contract
