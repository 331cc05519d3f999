// The names of kinds and reasons are on the wire.
#include "model/failure.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

TEST(Kind, IsFoundByItsName) {
  for (std::size_t i = 0; i < kKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    EXPECT_EQ(kind_named(name(kind)), kind);
  }
  EXPECT_EQ(kind_named(""), std::nullopt);
  EXPECT_EQ(kind_named("TIMEOUT"), std::nullopt);
}

TEST(Kind, HasTheNamesThatHandlersSend) {
  EXPECT_EQ(name(Kind::kTransient), "transient");
  EXPECT_EQ(name(Kind::kTimeout), "timeout");
  EXPECT_EQ(name(Kind::kUnavailable), "unavailable");
  EXPECT_EQ(name(Kind::kThrottled), "throttled");
  EXPECT_EQ(name(Kind::kConfig), "config");
  EXPECT_EQ(name(Kind::kPermanent), "permanent");
  EXPECT_EQ(name(Kind::kMalformed), "malformed");
  EXPECT_EQ(name(Kind::kSecurity), "security");
  EXPECT_EQ(name(Kind::kCrash), "crash");
}

TEST(Kind, IsFinalWhereTryingAgainCannotHelp) {
  for (std::size_t i = 0; i < kKinds; ++i) {
    const Kind kind = static_cast<Kind>(i);
    EXPECT_EQ(is_final(kind), kind == Kind::kPermanent || kind == Kind::kMalformed || kind == Kind::kSecurity);
  }
}

TEST(Reason, IsFoundByItsName) {
  for (std::size_t i = 0; i < kReasonNames.size(); ++i) {
    const Reason reason = static_cast<Reason>(i);
    EXPECT_EQ(reason_named(name(reason)), reason);
  }
  EXPECT_EQ(reason_named("exhausted"), std::nullopt);
}

TEST(Reason, HasTheNamesThatLettersCarry) {
  EXPECT_EQ(name(Reason::kExhausted), "EXHAUSTED");
  EXPECT_EQ(name(Reason::kRejected), "REJECTED");
  EXPECT_EQ(name(Reason::kMalformed), "MALFORMED");
  EXPECT_EQ(name(Reason::kSecurity), "SECURITY");
  EXPECT_EQ(name(Reason::kProcessCrash), "PROCESS_CRASH");
  EXPECT_EQ(name(Reason::kMaxHops), "MAX_HOPS");
  EXPECT_EQ(name(Reason::kGivenUp), "GIVEN_UP");
  EXPECT_EQ(name(Reason::kExpiring), "EXPIRING");
  EXPECT_EQ(name(Reason::kLostByRetention), "LOST_BY_RETENTION");
  EXPECT_EQ(name(Reason::kTooLarge), "TOO_LARGE");
  EXPECT_EQ(name(Reason::kUnknown), "UNKNOWN");
}

}  // namespace
}  // namespace bartleby
