#include "adapters/alert/log/log_alerter.h"

namespace bartleby {
namespace {

std::string text_of(const AlertTexts& texts, const std::string& name) {
  const auto found = texts.find(name);
  return found == texts.end() ? "" : found->second;
}

// `dlq=orders.dlq class=normal`
std::string about(const AlertTexts& labels) {
  std::string out;
  for (const auto& [name, value] : labels)
    if (name != "severity") out += (out.empty() ? "" : " ") + name + "=" + value;
  return out;
}

}  // namespace

Result<void> LogAlerter::push(const std::vector<Alert>& alerts) {
  for (const Alert& alert : alerts) {
    const bool changed =
        alert.ended ? begun_.erase({alert.name, alert.labels}) > 0 : begun_.emplace(alert.name, alert.labels).second;
    if (!changed) continue;
    const std::string severity = text_of(alert.labels, "severity");
    const LogLevel level = alert.ended              ? LogLevel::kInfo
                           : severity == "critical" ? LogLevel::kError
                                                    : LogLevel::kWarning;
    log_.write(level, alert.ended ? "alert_ended" : "alert_raised",
               {{"alert", alert.name},
                {"severity", severity},
                {"about", about(alert.labels)},
                {"summary", text_of(alert.annotations, "summary")}});
  }
  return {};
}

}  // namespace bartleby
