#include "codec/webhook.h"

#include "codec/base64.h"
#include "codec/hmac.h"

namespace bartleby {
namespace {

constexpr std::string_view kSecretPrefix = "whsec_";
constexpr std::string_view kVersion = "v1,";

}  // namespace

Result<WebhookSigner> WebhookSigner::make(std::string_view secret) {
  std::string key;
  if (!secret.starts_with(kSecretPrefix)) {
    key = secret;
  } else {
    const std::string_view text = secret.substr(kSecretPrefix.size());
    const Base64 spelling = text.size() % 4 == 0 ? Base64::kPadded : Base64::kBare;  // both are seen in the wild
    if (!append_from_base64(key, text, spelling))
      return fail(ErrorCode::kInvalid, "the secret says whsec_ but what follows is not base64");
  }
  if (key.empty()) return fail(ErrorCode::kInvalid, "the secret is empty");
  return WebhookSigner(std::move(key));
}

std::string WebhookSigner::sign(std::string_view id, std::int64_t timestamp, std::string_view body) const {
  const auto mac = hmac_sha256(key_, {id, ".", std::to_string(timestamp), ".", body});
  std::string text(kVersion);
  append_base64(text, {reinterpret_cast<const char*>(mac.data()), mac.size()}, Base64::kPadded);
  return text;
}

bool WebhookSigner::verify(std::string_view id, std::int64_t timestamp, std::string_view body,
                           std::string_view header) const {
  const std::string expected = sign(id, timestamp, body);
  bool found = false;
  while (!header.empty()) {
    const std::size_t end = header.find(' ');
    const std::string_view one = header.substr(0, end);
    found |= same_bytes(one, expected);
    header = end == std::string_view::npos ? std::string_view() : header.substr(end + 1);
  }
  return found;
}

}  // namespace bartleby
