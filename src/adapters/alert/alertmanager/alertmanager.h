// Alerts to a Prometheus Alertmanager: `POST /api/v2/alerts`, by libcurl.
//
// A push waits for the answer, five seconds at most; anything but 2xx is kUnavailable with its words. Follows no
// redirects and reads no proxy variables. One thread. Owns its connection.
#pragma once

#include <memory>
#include <string>

#include "ports/alerter.h"

namespace bartleby {

struct AlertmanagerOptions {
  std::string url;   // without /api/v2/alerts
  std::string page;  // what paths of alerts are added to; empty: alerts have no link
  Duration limit{5000};
};

// The body of the request.
std::string alertmanager_body(const std::vector<Alert>& alerts, const std::string& page);

class Alertmanager : public Alerter {
 public:
  explicit Alertmanager(AlertmanagerOptions options);
  ~Alertmanager() override;

  std::string_view name() const override { return "alertmanager"; }
  Result<void> push(const std::vector<Alert>& alerts) override;

 private:
  struct Handle;

  const AlertmanagerOptions options_;
  std::unique_ptr<Handle> handle_;
};

}  // namespace bartleby
