#include "runtime/attempt_token.h"

#include <sys/random.h>

#include <array>
#include <string_view>

#include "base/assert.h"

namespace bartleby {

std::string new_attempt_token() {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
  constexpr std::size_t kCharacters = 26;
  std::array<unsigned char, kCharacters> random;  // a byte for each character: five bits of it are used
  const auto got = getrandom(random.data(), random.size(), 0);
  BARTLEBY_ASSERT(got == static_cast<ssize_t>(random.size()));  // never less, for so few bytes
  std::string token = "at_";
  for (const unsigned char byte : random) token += kAlphabet[byte & 31];
  return token;
}

}  // namespace bartleby
