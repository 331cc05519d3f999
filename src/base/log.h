// One line per event: text for people, JSON for machines.
//
//   log.info("worker_started", {{"worker", "orders"}, {"partitions", 4}});
//
// An event has a name that programs can look for and fields; never a payload. Control characters are escaped, so that
// what came from outside cannot forge a line. Values are cut at 1 kB. Any thread; a line is written whole or not at
// all.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>

#include "base/time.h"

namespace bartleby {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };
enum class LogFormat : std::uint8_t { kText, kJson };

struct LogField {
  std::string_view name;
  std::variant<std::int64_t, double, bool, std::string> value;

  LogField(std::string_view n, std::string_view text) : name(n), value(std::string(text)) {}
  LogField(std::string_view n, const char* text) : name(n), value(std::string(text)) {}
  LogField(std::string_view n, const std::string& text) : name(n), value(text) {}
  LogField(std::string_view n, bool truth) : name(n), value(truth) {}
  LogField(std::string_view n, double number) : name(n), value(number) {}
  template <class Integer>
    requires std::is_integral_v<Integer>
  LogField(std::string_view n, Integer number) : name(n), value(static_cast<std::int64_t>(number)) {}
};
using LogFields = std::initializer_list<LogField>;

// A line without its end, as it is written.
std::string log_line(LogFormat format, Timestamp at, LogLevel level, std::string_view event, LogFields fields);

class Log {
 public:
  using Sink = std::function<void(std::string_view line)>;  // with its end

  explicit Log(LogFormat format = LogFormat::kText, LogLevel least = LogLevel::kInfo, Sink sink = {});  // {} = stderr

  void debug(std::string_view event, LogFields fields = {}) { write(LogLevel::kDebug, event, fields); }
  void info(std::string_view event, LogFields fields = {}) { write(LogLevel::kInfo, event, fields); }
  void warning(std::string_view event, LogFields fields = {}) { write(LogLevel::kWarning, event, fields); }
  void error(std::string_view event, LogFields fields = {}) { write(LogLevel::kError, event, fields); }
  void write(LogLevel level, std::string_view event, LogFields fields);

 private:
  const LogFormat format_;
  const LogLevel least_;
  const Sink sink_;
  std::mutex mutex_;
};

}  // namespace bartleby
