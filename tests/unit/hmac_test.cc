// Signatures by key: the vectors of RFC 4231, and one key after another on one thread.
#include "codec/hmac.h"

#include <gtest/gtest.h>

namespace bartleby {

TEST(Hmac, GivesWhatTheStandardSaysForOneKeyAfterAnother) {
  const std::string first(20, '\x0b'), second = "Jefe";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(hmac_sha256_hex(first, {"Hi ", "There"}),
              "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EXPECT_EQ(hmac_sha256_hex(second, {"what do ya want for nothing?"}),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  }
}

TEST(Hmac, AnEmptyKeyIsNotTheOneBefore) {
  const std::string expected = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad";
  EXPECT_EQ(hmac_sha256_hex(std::string_view(), {""}), expected);
  EXPECT_NE(hmac_sha256_hex("key", {""}), expected);
  EXPECT_EQ(hmac_sha256_hex(std::string_view(), {""}), expected);
}

}  // namespace bartleby
