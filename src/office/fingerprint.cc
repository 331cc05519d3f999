#include "office/fingerprint.h"

#include "codec/sha256.h"
#include "codec/utf8.h"

namespace bartleby {
namespace {

constexpr std::string_view kVersion = "1";
constexpr std::size_t kMaxTitle = 200;
constexpr std::size_t kIdRun = 8;  // that many hexadecimal digits in a row are an id

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// How far an id goes from here: hexadecimal digits, dashes between them, at least one decimal digit; 0: it is none.
std::size_t id_length(std::string_view text) {
  std::size_t n = 0, digits = 0;
  bool decimal = false;
  while (n < text.size() && (is_hex(text[n]) || (text[n] == '-' && n > 0))) {
    decimal |= is_digit(text[n]);
    digits += text[n] != '-';
    ++n;
  }
  while (n > 0 && text[n - 1] == '-') --n;
  const bool ends = n == text.size() || !is_letter(text[n]);
  return decimal && ends && digits >= kIdRun ? n : 0;
}

std::string_view trimmed(std::string_view line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return line;
}

bool is_python_frame(std::string_view line) { return line.starts_with("File \""); }

bool is_frame(std::string_view line) {
  return line.starts_with("at ") || line.starts_with("#0 ") || (line.starts_with("#1 ") && line.contains(" in ")) ||
         (line.ends_with(")") && line.contains('.') && line.contains('(') && !line.contains(' '));
}

}  // namespace

std::string normalised(std::string_view message) {
  std::string out;
  for (std::size_t i = 0; i < message.size();) {
    const char c = message[i];
    const bool within_word = i > 0 && is_letter(message[i - 1]);
    if (is_blank(c)) {
      if (!out.empty() && out.back() != ' ') out += ' ';
      ++i;
    } else if (const std::size_t id = within_word ? 0 : id_length(message.substr(i)); id > 0) {
      out += '#';
      i += id;
    } else if (is_digit(c)) {
      out += '#';
      while (i < message.size() && is_digit(message[i])) ++i;
    } else {
      out += c;
      ++i;
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// Most languages put the innermost frame first; Python puts it last.
std::string innermost_frame(std::string_view stack) {
  std::string_view last_python;
  while (!stack.empty()) {
    const std::size_t end = stack.find('\n');
    const std::string_view line = trimmed(stack.substr(0, end));
    stack.remove_prefix(end == std::string_view::npos ? stack.size() : end + 1);
    if (is_python_frame(line))
      last_python = line;
    else if (last_python.empty() && is_frame(line))
      return normalised(line);
  }
  return normalised(last_python);
}

Fingerprint fingerprint_of(Kind kind, const ErrorText& error) {
  const std::string message = normalised(error.message);
  const std::string frame = innermost_frame(error.stack);
  std::string hashed;
  for (const std::string_view part :
       {kVersion, name(kind), std::string_view(error.type), std::string_view(frame.empty() ? "message" : "frame"),
        std::string_view(frame.empty() ? message : frame)}) {
    hashed += std::to_string(part.size());
    hashed += ':';
    hashed += part;
  }
  std::string title = error.type.empty() ? std::string(name(kind)) : error.type;
  if (!message.empty()) title += ": " + message;
  return {"iss_" + sha256_hex(hashed).substr(0, 16), clean_utf8(title, {.characters = kMaxTitle})};
}

}  // namespace bartleby
