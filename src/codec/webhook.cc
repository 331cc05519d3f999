#include "codec/webhook.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <memory>

#include "base/assert.h"
#include "codec/base64.h"

namespace bartleby {
namespace {

constexpr std::string_view kSecretPrefix = "whsec_";
constexpr std::string_view kVersion = "v1,";

struct ContextDeleter {
  void operator()(EVP_MAC_CTX* c) const { EVP_MAC_CTX_free(c); }
};

std::array<unsigned char, 32> hmac(std::string_view key, std::initializer_list<std::string_view> parts) {
  static EVP_MAC* const kAlgorithm = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  BARTLEBY_ASSERT(kAlgorithm != nullptr);
  const std::unique_ptr<EVP_MAC_CTX, ContextDeleter> context(EVP_MAC_CTX_new(kAlgorithm));
  char digest[] = "SHA256";
  const std::array<OSSL_PARAM, 2> params = {OSSL_PARAM_construct_utf8_string("digest", digest, 0),
                                            OSSL_PARAM_construct_end()};
  bool ok = context != nullptr && EVP_MAC_init(context.get(), reinterpret_cast<const unsigned char*>(key.data()),
                                               key.size(), params.data()) == 1;
  for (const std::string_view part : parts)
    ok = ok && EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(part.data()), part.size()) == 1;
  std::array<unsigned char, 32> mac{};
  std::size_t size = 0;
  ok = ok && EVP_MAC_final(context.get(), mac.data(), &size, mac.size()) == 1;
  BARTLEBY_ASSERT(ok && size == mac.size());
  return mac;
}

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
  const auto mac = hmac(key_, {id, ".", std::to_string(timestamp), ".", body});
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
    found |= one.size() == expected.size() && CRYPTO_memcmp(one.data(), expected.data(), one.size()) == 0;
    header = end == std::string_view::npos ? std::string_view() : header.substr(end + 1);
  }
  return found;
}

}  // namespace bartleby
