// Alerts as lines of the log: one when an alert begins, one when it ends, none in between.
// Never fails. One thread; the log outlives it.
#pragma once

#include <set>
#include <utility>

#include "base/log.h"
#include "ports/alerter.h"

namespace bartleby {

class LogAlerter : public Alerter {
 public:
  explicit LogAlerter(Log& log) : log_(log) {}

  std::string_view name() const override { return "log"; }
  Result<void> push(const std::vector<Alert>& alerts) override;

 private:
  Log& log_;
  std::set<std::pair<std::string, AlertTexts>> begun_;
};

}  // namespace bartleby
