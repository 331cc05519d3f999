#include "codec/header_bytes.h"

namespace bartleby {
namespace {

void put(std::string& out, std::uint64_t n) {
  for (; n >= 0x80; n >>= 7) out.push_back(static_cast<char>((n & 0x7f) | 0x80));
  out.push_back(static_cast<char>(n));
}

bool take(std::string_view& in, std::uint64_t& n) {
  n = 0;
  for (unsigned shift = 0; shift < 63 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    n |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool take(std::string_view& in, std::uint64_t size, std::string_view& out) {
  if (size > in.size()) return false;
  out = in.substr(0, size);
  in.remove_prefix(size);
  return true;
}

}  // namespace

std::optional<std::string> encode_headers(const Headers& headers) {
  if (headers.empty()) return std::nullopt;
  std::string out;
  for (const auto& [name, value] : headers) {
    put(out, name.size());
    out += name;
    put(out, value ? value->size() + 1 : 0);
    if (value) out += *value;
  }
  return out;
}

std::optional<Headers> decode_headers(std::string_view bytes) {
  Headers headers;
  while (!bytes.empty()) {
    std::uint64_t size = 0;
    std::string_view name, value;
    if (!take(bytes, size) || !take(bytes, size, name) || !take(bytes, size)) return std::nullopt;
    if (size == 0) {
      headers.emplace_back(std::string(name), Bytes());
    } else {
      if (!take(bytes, size - 1, value)) return std::nullopt;
      headers.emplace_back(std::string(name), Bytes(value));
    }
  }
  return headers;
}

}  // namespace bartleby
