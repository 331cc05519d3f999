#include "codec/hmac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <memory>

#include "base/assert.h"
#include "codec/percent.h"

namespace bartleby {
namespace {

struct ContextDeleter {
  void operator()(EVP_MAC_CTX* c) const { EVP_MAC_CTX_free(c); }
};

// Knows its digest and no key yet.
std::unique_ptr<EVP_MAC_CTX, ContextDeleter> new_context() {
  static EVP_MAC* const kAlgorithm = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  BARTLEBY_ASSERT(kAlgorithm != nullptr);
  std::unique_ptr<EVP_MAC_CTX, ContextDeleter> context(EVP_MAC_CTX_new(kAlgorithm));
  char digest[] = "SHA256";
  const std::array<OSSL_PARAM, 2> params = {OSSL_PARAM_construct_utf8_string("digest", digest, 0),
                                            OSSL_PARAM_construct_end()};
  BARTLEBY_ASSERT(context != nullptr && EVP_MAC_CTX_set_params(context.get(), params.data()) == 1);
  return context;
}

}  // namespace

Sha256 hmac_sha256(std::string_view key, std::initializer_list<std::string_view> parts) {
  // One for each thread: looking the digest up takes as long as hashing a short text. Every key begins anew.
  thread_local const std::unique_ptr<EVP_MAC_CTX, ContextDeleter> context = new_context();
  // A key without bytes would be taken for the one before.
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.data() == nullptr ? "" : key.data());
  bool ok = EVP_MAC_init(context.get(), bytes, key.size(), nullptr) == 1;
  for (const std::string_view part : parts)
    ok = ok && EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(part.data()), part.size()) == 1;
  Sha256 mac{};
  std::size_t size = 0;
  ok = ok && EVP_MAC_final(context.get(), mac.data(), &size, mac.size()) == 1;
  BARTLEBY_ASSERT(ok && size == mac.size());
  return mac;
}

std::string hmac_sha256_hex(std::string_view key, std::initializer_list<std::string_view> parts) {
  return hex(hmac_sha256(key, parts));
}

bool same_bytes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace bartleby
