#include "office/alert_book.h"

#include <algorithm>

#include "codec/percent.h"

namespace bartleby {
namespace {

constexpr Duration kFirstPause{1000};

bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

std::string letters_text(std::int64_t n) { return std::to_string(n) + (n == 1 ? " open letter" : " open letters"); }

Alert of_dlq(const DlqState& dlq, std::int64_t open) {
  const bool financial = dlq.dlq_class == DlqClass::kFinancial;
  Alert alert{.name = "LetterArrived",
              .labels = {{"dlq", dlq.name},
                         {"class", std::string(name(dlq.dlq_class))},
                         {"severity", financial ? "critical" : "warning"}}};
  alert.annotations = {{"summary", letters_text(open) + " in " + dlq.name},
                       {"open", std::to_string(open)},
                       {"action", financial ? "Look at once: these messages are about money and were not handled."
                                            : "Look at the letters: replay them when the cause is gone, or discard."}};
  alert.path = "/letters?q=" + percent_encoded("dlq:" + dlq.name + " state:open", plain);
  return alert;
}

Alert of_issue(const Issue& issue) {
  Alert alert{.name = issue.state == IssueState::kNew ? "IssueNew" : "IssueRegressed",
              .labels = {{"issue", issue.id}, {"severity", "warning"}}};
  alert.annotations = {
      {"summary", issue.title},
      {"open", std::to_string(issue.open)},
      {"action", issue.state == IssueState::kNew ? "A failure that was not there before: look at the issue."
                                                 : "A failure that was said to be over is back: look at the issue."}};
  alert.path = "/issues/" + issue.id;
  return alert;
}

}  // namespace

Alerts alerts_of(const AlertFacts& facts, const Alerts& before, Timestamp now, Duration keep) {
  Alerts out;
  const auto add = [&](Alert alert) {
    if (out.size() == kMaxAlerts) return;
    AlertKey key{alert.name, alert.labels};
    const auto held = before.find(key);
    alert.starts = held == before.end() ? now : held->second.starts;
    alert.ends = now + keep;
    out.emplace(std::move(key), std::move(alert));
  };
  for (const DlqState& dlq : facts.dlqs)
    if (const std::int64_t open = dlq.letters[static_cast<std::size_t>(LetterState::kOpen)]; open > 0)
      add(of_dlq(dlq, open));
  for (const Issue& issue : facts.issues)
    if (issue.open > 0 && (issue.state == IssueState::kNew || issue.state == IssueState::kRegressed))
      add(of_issue(issue));
  return out;
}

std::vector<Alert> AlertTelling::due(const Alerts& holding, Now now) const {
  const bool same = std::ranges::equal(holding, known_, {}, &Alerts::value_type::first, &Alerts::value_type::first);
  // A failure waits out its pause even when there is more to say; else every letter would be a try.
  if ((pause_ > Duration(0) || same) && now.steady < next_) return {};
  std::vector<Alert> out;
  for (const auto& [key, alert] : holding) out.push_back(alert);
  for (const auto& [key, alert] : known_) {
    if (holding.contains(key)) continue;
    out.push_back(alert);
    out.back().ended = true;
    out.back().ends = now.wall;
  }
  return out;
}

void AlertTelling::told(const Alerts& holding, bool taken, Now now, Duration resend) {
  if (taken) {
    known_ = holding;
    pause_ = Duration(0);
    next_ = now.steady + resend;
    return;
  }
  for (const auto& [key, alert] : holding) known_.insert_or_assign(key, alert);  // part of it may have arrived
  while (known_.size() > 2 * kMaxAlerts)  // those that ended will end by themselves
    known_.erase(std::ranges::find_if(known_, [&](const auto& one) { return !holding.contains(one.first); }));
  pause_ = std::clamp(pause_ * 2, std::min(kFirstPause, resend), resend);
  next_ = now.steady + pause_;
}

}  // namespace bartleby
