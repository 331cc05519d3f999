#include "codec/json_text.h"

#include "codec/base64.h"
#include "codec/utf8.h"

namespace bartleby {
namespace {

constexpr bool needs_escape(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

void append_escaped(std::string& out, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
  }
}

void append_quoted(std::string& out, std::string_view valid) {
  out += '"';
  std::size_t plain = 0;  // start of what has not been written yet
  for (std::size_t i = 0; i < valid.size(); ++i) {
    if (!needs_escape(valid[i])) continue;
    out += valid.substr(plain, i - plain);
    append_escaped(out, valid[i]);
    plain = i + 1;
  }
  out += valid.substr(plain);
  out += '"';
}

}  // namespace

void append_json_text(std::string& out, std::string_view text) {
  if (is_utf8(text)) {
    append_quoted(out, text);
  } else {
    append_quoted(out, clean_utf8(text));
  }
}

void append_json_bytes(std::string& out, std::string_view bytes) {
  if (is_utf8(bytes)) {
    append_quoted(out, bytes);
    return;
  }
  out += R"({"base64":")";
  append_base64(out, bytes, Base64::kPadded);
  out += R"("})";
}

}  // namespace bartleby
