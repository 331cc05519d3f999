#include "wiring/demo_account.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

const std::map<std::int64_t, std::string> kSent = {{0, "a"}, {1, "a"}, {2, "b"}, {3, "a"}, {4, "b"}};
const std::vector<DemoLetter> kLetters = {{1, true, false}, {4, false, true}};

// Order 0 at once, 3 and 2 after retries, 1 and 4 dead; replayed 1 succeeds and 4 comes back.
std::vector<DemoAttempt> attempts() {
  return {{0, 1, false, true}, {1, 1, false, false}, {2, 1, false, false}, {2, 2, false, true}, {3, 1, false, false},
          {3, 2, false, true}, {4, 1, false, false}, {1, 1, true, true},   {4, 1, true, false}};
}

TEST(DemoAccountTest, WhatReallyHappenedAddsUp) {
  const DemoAccount account = demo_account(5, kSent, kLetters, attempts());
  EXPECT_TRUE(account.adds_up());
  EXPECT_EQ(
      account.text(),
      "sent 5 = handled at once 1 + handled after retries 2 + dead letters 2 (replayed 2: succeeded 1, came back 1)"
      " = 5   lost 0   order kept in 2 of 2 keys");
}

TEST(DemoAccountTest, WhatACrashRepeatsChangesNothing) {
  std::vector<DemoAttempt> repeated = attempts();
  repeated.push_back({0, 1, false, true});
  repeated.push_back({0, 2, false, false});
  EXPECT_EQ(demo_account(5, kSent, kLetters, repeated).text(), demo_account(5, kSent, kLetters, attempts()).text());
}

TEST(DemoAccountTest, WhatIsMissingIsLost) {
  std::vector<DemoAttempt> less = attempts();
  less.erase(less.begin());  // nobody has handled order 0
  EXPECT_EQ(demo_account(5, kSent, kLetters, less).lost, 1);
  EXPECT_FALSE(demo_account(5, kSent, kLetters, less).adds_up());
  less = attempts();
  less.erase(less.end() - 2);  // the office says that 1 was handled, the receiver does not know of it
  EXPECT_EQ(demo_account(5, kSent, kLetters, less).lost, 1);
  EXPECT_FALSE(demo_account(5, kSent, kLetters, less).adds_up());
  EXPECT_FALSE(demo_account(6, kSent, kLetters, attempts()).adds_up()) << "one was never sent";
  EXPECT_FALSE(demo_account(5, kSent, {{1, true, false}, {4, false, false}}, attempts()).adds_up()) << "not replayed";
}

TEST(DemoAccountTest, AnOrderThatIsBrokenIsSeen) {
  std::vector<DemoAttempt> turned = attempts();
  std::swap(turned[0], turned[5]);
  const DemoAccount account = demo_account(5, kSent, kLetters, turned);
  EXPECT_EQ(account.in_order, 1);
  EXPECT_FALSE(account.adds_up());
}

}  // namespace
}  // namespace bartleby
