// Signatures of the Standard Webhooks specification: `v1,` + base64 of HMAC-SHA256 over `id.timestamp.body`.
//
// A secret is `whsec_` + base64 of its bytes, or any other text, whose bytes are then the key themselves. A key that
// says `whsec_` and is not base64, or is empty, is refused: silence would sign with something nobody else has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace bartleby {

class WebhookSigner {
 public:
  static Result<WebhookSigner> make(std::string_view secret);

  // `timestamp` in Unix seconds. The answer is the whole value of the header `webhook-signature`.
  std::string sign(std::string_view id, std::int64_t timestamp, std::string_view body) const;

  // Is one of the signatures in `header` (separated by blanks) ours? Takes the same time whichever byte differs.
  bool verify(std::string_view id, std::int64_t timestamp, std::string_view body, std::string_view header) const;

 private:
  explicit WebhookSigner(std::string key) : key_(std::move(key)) {}

  std::string key_;
};

}  // namespace bartleby
