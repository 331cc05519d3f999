#include "codec/base64.h"

#include <array>

namespace bartleby {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNone = 0xff;

constexpr std::array<std::uint8_t, 256> make_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  return values;
}
constexpr std::array<std::uint8_t, 256> kValues = make_values();

constexpr std::uint32_t byte_at(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

}  // namespace

void append_base64(std::string& out, std::string_view bytes, Base64 spelling) {
  const std::size_t before = out.size();
  out.resize(before + base64_size(bytes.size(), spelling), '=');
  char* at = out.data() + before;
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const std::uint32_t group = byte_at(bytes, i) << 16 | byte_at(bytes, i + 1) << 8 | byte_at(bytes, i + 2);
    *at++ = kAlphabet[group >> 18];
    *at++ = kAlphabet[group >> 12 & 63];
    *at++ = kAlphabet[group >> 6 & 63];
    *at++ = kAlphabet[group & 63];
  }
  const std::size_t left = bytes.size() - i;
  if (left == 0) return;
  const std::uint32_t group = byte_at(bytes, i) << 16 | (left == 2 ? byte_at(bytes, i + 1) << 8 : 0);
  *at++ = kAlphabet[group >> 18];
  *at++ = kAlphabet[group >> 12 & 63];
  if (left == 2) *at = kAlphabet[group >> 6 & 63];
}

bool append_from_base64(std::string& out, std::string_view text, Base64 spelling) {
  if (spelling == Base64::kPadded) {
    if (text.size() % 4 != 0) return false;
    if (text.ends_with("==")) {
      text.remove_suffix(2);
    } else if (text.ends_with('=')) {
      text.remove_suffix(1);
    }
  }
  const std::size_t left = text.size() % 4;
  if (left == 1) return false;
  const std::size_t before = out.size();
  out.resize(before + text.size() / 4 * 3 + (left == 0 ? 0 : left - 1));

  char* at = out.data() + before;
  std::size_t i = 0;
  std::uint32_t bad = 0;  // looked at once at the end: refusals are rare, branches in the loop are not
  const auto value = [&](std::size_t k) {
    const std::uint32_t v = kValues[byte_at(text, k)];
    bad |= v;
    return v & 63;
  };
  for (; i + 4 <= text.size(); i += 4) {
    const std::uint32_t group = value(i) << 18 | value(i + 1) << 12 | value(i + 2) << 6 | value(i + 3);
    *at++ = static_cast<char>(group >> 16 & 255);
    *at++ = static_cast<char>(group >> 8 & 255);
    *at++ = static_cast<char>(group & 255);
  }
  if (left > 0) {
    const std::uint32_t group = value(i) << 18 | value(i + 1) << 12 | (left == 3 ? value(i + 2) << 6 : 0);
    *at++ = static_cast<char>(group >> 16 & 255);
    if (left == 3) *at = static_cast<char>(group >> 8 & 255);
    if ((group & (left == 3 ? 0xffU : 0xffffU)) != 0) return false;  // bits that no byte uses
  }
  return (bad & 0x80) == 0;
}

}  // namespace bartleby
