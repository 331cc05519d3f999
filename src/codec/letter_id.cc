// Ids of messages and letters: the first 130 bits of a SHA-256, in base32 (RFC 4648, lower case).
//
// Every field goes in with its length before it, so that no two different lists of fields can give the same bytes.
#include "codec/letter.h"
#include "codec/sha256.h"

namespace bartleby {
namespace {

constexpr std::size_t kIdCharacters = 26;

void put_field(std::string& out, std::string_view field) {
  for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(field.size() >> shift));
  out += field;
}

std::string origin(const LetterFacts& facts) {
  std::string out;
  put_field(out, facts.cluster);
  put_field(out, facts.topic);
  put_field(out, std::to_string(facts.partition.v));
  put_field(out, std::to_string(facts.offset.v));
  put_field(out, std::to_string(ms(facts.timestamp)));
  return out;
}

std::string id(std::string_view prefix, std::string_view hashed) {
  constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
  const Sha256 digest = sha256(hashed);
  std::string text(prefix);
  for (std::size_t i = 0; i < kIdCharacters; ++i) {
    const std::size_t bit = i * 5;
    const unsigned two_bytes = unsigned{digest[bit / 8]} << 8 | digest[bit / 8 + 1];
    text += kAlphabet[two_bytes >> (11 - bit % 8) & 31];
  }
  return text;
}

}  // namespace

std::string message_id(const LetterFacts& facts) {
  return facts.lineage.empty() ? id("msg_", origin(facts)) : facts.lineage;
}

std::string letter_id(const LetterFacts& facts) {
  std::string hashed = origin(facts);
  put_field(hashed, facts.group);
  put_field(hashed, std::to_string(facts.replays));
  return id("ltr_", hashed);
}

}  // namespace bartleby
