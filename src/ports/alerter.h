// Somebody who is told of alerts: an Alertmanager, the log.
//
// An alert is known by its name and labels, which stay the same while it holds; what changes (counts) is in its
// annotations. It is pushed again and again while it holds, and once more when it has ended. A push that fails
// (kUnavailable) is tried again later with what holds then; an alert may arrive twice. One thread; a push may wait for
// a server, but not for long.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace bartleby {

using AlertTexts = std::map<std::string, std::string>;

struct Alert {
  std::string name;
  AlertTexts labels;  // `severity` among them: warning or critical
  AlertTexts annotations{};
  std::string path{};  // of the page that shows it
  Timestamp starts{};
  Timestamp ends{};  // it holds until then if nobody says so again; of one that has ended, when
  bool ended = false;
};

constexpr std::size_t kMaxAlerts = 1000;  // that hold at once

class Alerter {
 public:
  virtual ~Alerter() = default;

  virtual std::string_view name() const = 0;  // `alertmanager`
  virtual Result<void> push(const std::vector<Alert>& alerts) = 0;
};

}  // namespace bartleby
