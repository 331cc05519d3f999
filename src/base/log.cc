#include "base/log.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
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

// As JSON would write it, which is readable as text too. Bytes that are no UTF-8 are left: a terminal shows them as
// such.
void append_escaped(std::string& line, std::string_view text) {
  const bool cut = text.size() > kMaxValue;
  if (cut) text = text.substr(0, kMaxValue);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> hex{};
      std::snprintf(hex.data(), hex.size(), "\\u%04x", byte);
      line += hex.data();
    } else {
      line += c;
    }
  }
  if (cut) line += "…";
}

void append_number(std::string& line, double number) {
  std::array<char, 32> text{};
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
