#include "base/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace bartleby {
namespace {

constexpr std::size_t kMaxValue = 1024;
constexpr std::array<std::string_view, 4> kLevels = {"debug", "info", "warning", "error"};

std::string time_text(Timestamp at) {
  const std::int64_t total = ms(at);
  const std::time_t seconds = static_cast<std::time_t>(total / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 40> text{};
  const std::size_t n = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::array<char, 8> fraction{};
  std::snprintf(fraction.data(), fraction.size(), ".%03dZ", static_cast<int>(total % 1000));
  return std::string(text.data(), n) + fraction.data();
}

// How many bytes the character at the front has; 0: it is none (UTF-8, shortest form, no surrogates).
std::size_t character(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (at(i) & 0xc0U) == 0x80U; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first < 0xf0) {
    if (!follows(1) || !follows(2) || (first == 0xe0 && at(1) < 0xa0) || (first == 0xed && at(1) >= 0xa0)) return 0;
    return 3;
  }
  if (first < 0xf0 || first > 0xf4 || !follows(1) || !follows(2) || !follows(3)) return 0;
  return (first == 0xf0 && at(1) < 0x90) || (first == 0xf4 && at(1) >= 0x90) ? 0 : 4;
}

void append_code(std::string& line, unsigned code) {
  std::array<char, 8> hex{};
  std::snprintf(hex.data(), hex.size(), "\\u%04x", code);
  line += hex.data();
}

// As JSON would write it, which is readable as text too: always UTF-8, and no control character, C1 included, reaches
// a terminal.
void append_escaped(std::string& line, std::string_view text) {
  const std::size_t end = std::min(text.size(), kMaxValue);
  for (std::size_t i = 0; i < end;) {
    const std::size_t size = character(text.substr(i));
    if (i + size > kMaxValue) break;
    const auto byte = static_cast<unsigned char>(text[i]);
    if (size == 0) {
      line += "\xef\xbf\xbd";  // the replacement character
    } else if (byte == '"' || byte == '\\') {
      line += '\\';
      line += text[i];
    } else if (byte == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      append_code(line, byte);
    } else if (size == 2 && byte == 0xc2 && static_cast<unsigned char>(text[i + 1]) < 0xa0) {
      append_code(line, static_cast<unsigned char>(text[i + 1]));
    } else {
      line += text.substr(i, size);
    }
    i += std::max<std::size_t>(size, 1);
  }
  if (text.size() > kMaxValue) line += "…";
}

// JSON has no word for what is not finite.
void append_number(std::string& line, double number) {
  if (!std::isfinite(number)) {
    line += "null";
    return;
  }
  std::array<char, 400> text{};  // the largest has 309 digits
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, 3).ptr;
  line.append(text.data(), end);
}

void append_value(std::string& line, const LogField& field, bool json) {
  if (const auto* text = std::get_if<std::string>(&field.value)) {
    const bool plain = !json && !text->empty() && text->find_first_of(" \"\\=\n\t") == std::string::npos;
    if (!plain) line += '"';
    append_escaped(line, *text);
    if (!plain) line += '"';
  } else if (const auto* integer = std::get_if<std::int64_t>(&field.value)) {
    line += std::to_string(*integer);
  } else if (const auto* truth = std::get_if<bool>(&field.value)) {
    line += *truth ? "true" : "false";
  } else {
    append_number(line, std::get<double>(field.value));
  }
}

void to_stderr(std::string_view line) {
  while (!line.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody listens; there is no other place to say so
    line.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

std::string log_line(LogFormat format, Timestamp at, LogLevel level, std::string_view event, LogFields fields) {
  std::string line;
  line.reserve(128);
  if (format == LogFormat::kJson) {
    line += "{\"time\":\"" + time_text(at) + "\",\"level\":\"";
    line += kLevels[static_cast<std::size_t>(level)];
    line += "\",\"event\":\"";
    append_escaped(line, event);
    line += '"';
    for (const LogField& field : fields) {
      line += ",\"";
      append_escaped(line, field.name);
      line += "\":";
      append_value(line, field, true);
    }
    line += '}';
    return line;
  }
  line += time_text(at);
  line += ' ';
  line += kLevels[static_cast<std::size_t>(level)];
  line += ' ';
  append_escaped(line, event);
  for (const LogField& field : fields) {
    line += ' ';
    append_escaped(line, field.name);
    line += '=';
    append_value(line, field, false);
  }
  return line;
}

Log::Log(LogFormat format, LogLevel least, Sink sink)
    : format_(format), least_(least), sink_(sink ? std::move(sink) : Sink(to_stderr)) {}

void Log::write(LogLevel level, std::string_view event, LogFields fields) {
  if (level < least_) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string line = log_line(format_, Timestamp(std::chrono::duration_cast<Duration>(now)), level, event, fields);
  line += '\n';
  const std::lock_guard lock(mutex_);
  sink_(line);
}

}  // namespace bartleby
