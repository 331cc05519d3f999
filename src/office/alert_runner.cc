#include "office/alert_runner.h"

#include "base/thread_name.h"
#include "office/issues.h"

namespace bartleby {
namespace {

constexpr Duration kLook{1000};
constexpr int kKeep = 4;  // resends that may fail before an alert ends by itself

}  // namespace

AlertRunner::AlertRunner(Store& store, const Clock& clock, Log& log)
    : store_(store), clock_(clock), log_(log), setup_(std::make_shared<Setup>()) {}

AlertRunner::~AlertRunner() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void AlertRunner::set(std::vector<std::unique_ptr<Alerter>> destinations, Duration resend) {
  auto setup = std::make_shared<Setup>();
  setup->resend = resend;
  const std::lock_guard lock(mutex_);
  for (auto& one : destinations) {
    errors_[std::string(one->name())];  // there at 0 from the start
    setup->destinations.push_back({.to = std::move(one)});
  }
  setup_ = std::move(setup);
}

void AlertRunner::start() {
  thread_ = std::thread([this] { work(); });
}

void AlertRunner::wake() {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  wake_.notify_all();
}

std::map<std::string, std::uint64_t> AlertRunner::errors() const {
  const std::lock_guard lock(mutex_);
  return errors_;
}

void AlertRunner::work() {
  name_thread("alerts");
  while (true) {
    run_once();
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, clock_.real(kLook), [this] { return stopping_ || woken_; });
    woken_ = false;
    if (stopping_) return;
  }
}

Result<AlertFacts> AlertRunner::facts() {
  AlertFacts out;
  const auto read = store_.read([&](Connection& connection) -> Result<void> {
    auto dlqs = dlq_states(connection);
    if (!dlqs) return std::unexpected(dlqs.error());
    out.dlqs = std::move(*dlqs);
    auto issues = issue_page(connection, {IssueState::kNew, IssueState::kRegressed}, {}, kMaxIssueAlerts);
    if (!issues) return std::unexpected(issues.error());
    out.issues = std::move(*issues);
    return {};
  });
  if (!read) return std::unexpected(read.error());
  return out;
}

void AlertRunner::run_once() {
  const std::lock_guard lock(running_);
  std::shared_ptr<Setup> setup;
  {
    const std::lock_guard inside(mutex_);
    setup = setup_;
  }
  if (setup->destinations.empty()) return;
  auto found = facts();
  // What cannot be read has not ended: what was told holds on for a while by itself.
  if (!found && !unread_) log_.warning("alerts_not_known", {{"why", found.error().message}});
  unread_ = !found;
  if (!found) return;
  holding_ = alerts_of(*found, holding_, clock_.now().wall, setup->resend * kKeep);
  for (Destination& destination : setup->destinations) push(destination, setup->resend);
}

void AlertRunner::push(Destination& destination, Duration resend) {
  const std::vector<Alert> alerts = destination.telling.due(holding_, clock_.now());
  if (alerts.empty()) return;
  const auto pushed = destination.to->push(alerts);
  destination.telling.told(holding_, pushed.has_value(), clock_.now(), resend);
  const std::string to(destination.to->name());
  if (!pushed && !destination.silent) log_.warning("alert_push_failed", {{"to", to}, {"why", pushed.error().message}});
  if (pushed && destination.silent) log_.info("alert_push_works_again", {{"to", to}});
  destination.silent = !pushed;
  if (pushed) return;
  const std::lock_guard lock(mutex_);
  ++errors_[to];
}

}  // namespace bartleby
