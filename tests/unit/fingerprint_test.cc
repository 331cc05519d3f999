#include "office/fingerprint.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

std::string issue(const ErrorText& error, Kind kind = Kind::kTimeout) { return fingerprint_of(kind, error).issue; }

TEST(IssueFingerprint, NumbersAndIdsDoNotMatter) {
  EXPECT_EQ(normalised("TON Center API timeout after 30s"), "TON Center API timeout after #s");
  EXPECT_EQ(normalised("deal 550e8400-e29b-41d4-a716-446655440000  not\n found"), "deal # not found");
  EXPECT_EQ(normalised("at 0xdeadbeef01: 12,5"), "at #xdeadbeef#: #,#");
  EXPECT_EQ(normalised("facade added decade"), "facade added decade");
  EXPECT_EQ(normalised("object deadbeef12 gone"), "object # gone");
  EXPECT_EQ(normalised("  "), "");
  EXPECT_EQ(issue({"T", "after 30s", ""}), issue({"T", "after 31s", ""}));
  EXPECT_NE(issue({"T", "after 30s", ""}), issue({"T", "before 30s", ""}));
}

TEST(IssueFingerprint, KindAndTypeMatter) {
  EXPECT_NE(issue({"T", "m", ""}), issue({"U", "m", ""}));
  EXPECT_NE(issue({"T", "m", ""}), issue({"T", "m", ""}, Kind::kConfig));
  // No two lists of parts can run into each other.
  EXPECT_NE(issue({"T", "1:m", ""}), issue({"T1:", "m", ""}));
}

TEST(IssueFingerprint, TheInnermostFrameStandsForTheMessage) {
  const std::string java = "java.io.IOException: x\n\tat a.b.C.run(C.java:12)\n\tat a.b.D.main(D.java:1)";
  EXPECT_EQ(innermost_frame(java), "at a.b.C.run(C.java:#)");
  const std::string python =
      "Traceback (most recent call last):\n  File \"main.py\", line 3, in <module>\n    f()\n  File \"pay.py\", line "
      "9, in f";
  EXPECT_EQ(innermost_frame(python), "File \"pay.py\", line #, in f");
  EXPECT_EQ(innermost_frame("goroutine 7 [running]:\nmain.pay(0x1)\n\t/x/pay.go:12"), "main.pay(#x#)");
  EXPECT_EQ(innermost_frame("something went wrong\n"), "");
  EXPECT_EQ(issue({"T", "one", java}), issue({"T", "two", java}));
  EXPECT_NE(issue({"T", "one", java}), issue({"T", "one", ""}));
}

TEST(IssueFingerprint, TheTitleIsForPeople) {
  EXPECT_EQ(fingerprint_of(Kind::kTimeout, {"TonApiTimeoutException", "no answer after 30s", ""}).title,
            "TonApiTimeoutException: no answer after #s");
  EXPECT_EQ(fingerprint_of(Kind::kTimeout, {}).title, "timeout");
  EXPECT_LE(fingerprint_of(Kind::kTimeout, {"T", std::string(1000, 'x'), ""}).title.size(), 200U);
}

// Stored in issues' ids: it changes only together with its version.
TEST(IssueFingerprint, IsTheSameForEver) {
  EXPECT_EQ(issue({"TimeoutError", "no answer after 30s", ""}), "iss_ca7a71c73bcd0432");
}

}  // namespace
}  // namespace bartleby
