#include "codec/webhook.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

// The vector of the Standard Webhooks libraries.
constexpr std::string_view kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr std::string_view kId = "msg_p5jXN8AQM9LWM0D4loKWxJek";
constexpr std::int64_t kTime = 1614265330;
constexpr std::string_view kBody = R"({"test": 2432232314})";
constexpr std::string_view kSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

TEST(Webhook, SignsTheStandardsOwnVector) {
  EXPECT_EQ(WebhookSigner::make(kSecret)->sign(kId, kTime, kBody), kSignature);
}

TEST(Webhook, TakesAnyOtherTextAsTheKeyItself) {
  // The same bytes as the vector's secret has, given raw.
  const std::string raw =
      "\x31\xf2\x90\xf6\xbf\x06\x29\x8a\xab\x4f\x08\xd4\x3c\x3f\x08\x2c\xf6\x48\xa3\x62\xda\x2d\xa4\xb0";
  EXPECT_EQ(WebhookSigner::make(raw)->sign(kId, kTime, kBody), kSignature);
}

TEST(Webhook, RefusesASecretThatIsNone) {
  for (const char* secret : {"", "whsec_", "whsec_!!!!", "whsec_A"})
    EXPECT_FALSE(WebhookSigner::make(secret)) << secret;
}

TEST(Webhook, FindsItsSignatureAmongSeveral) {
  const auto signer = WebhookSigner::make(kSecret);
  EXPECT_TRUE(signer->verify(kId, kTime, kBody, "v1,AAAA " + std::string(kSignature) + " v1a,xyz"));
  EXPECT_FALSE(signer->verify(kId, kTime + 1, kBody, kSignature));
  EXPECT_FALSE(signer->verify(kId, kTime, "other", kSignature));
  EXPECT_FALSE(signer->verify(kId, kTime, kBody, ""));
  EXPECT_FALSE(signer->verify(kId, kTime, kBody, "v1,AAAA"));
}

}  // namespace
}  // namespace bartleby
