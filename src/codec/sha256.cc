#include "codec/sha256.h"

#include <openssl/evp.h>

#include "base/assert.h"
#include "codec/percent.h"

namespace bartleby {
namespace {

// Looked up once: by name, as EVP_sha256() does at every call, takes longer than hashing a short text.
const EVP_MD* algorithm() {
  static const EVP_MD* const kAlgorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  BARTLEBY_ASSERT(kAlgorithm != nullptr);
  return kAlgorithm;
}

}  // namespace

Sha256 sha256(std::string_view bytes) {
  Sha256 digest{};
  unsigned size = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, algorithm(), nullptr);
  BARTLEBY_ASSERT(ok == 1 && size == digest.size());
  return digest;
}

std::string sha256_hex(std::string_view bytes) { return hex(sha256(bytes)); }

}  // namespace bartleby
