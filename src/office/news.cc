#include "office/news.h"

namespace bartleby {

void News::heard(const std::string& dlq, const IntakeReport& report, Instant now) {
  const std::lock_guard lock(mutex_);
  Taken& taken = taken_[dlq];
  taken.stored += report.stored;
  taken.came_back += report.came_back;
  auto& lately = lately_[dlq];
  while (!lately.empty() && lately.front().first < now - kRemembered) lately.pop_front();
  if (const std::uint64_t more = report.stored + report.came_back; more > 0) {
    const Instant second(now.time_since_epoch() / 1000 * 1000);
    if (lately.empty() || lately.back().first < second) lately.emplace_back(second, 0);
    lately.back().second += more;
  }
  for (const IssueNews& issue : report.news) add(issue);
}

void News::changed(IssueNews issue) {
  const std::lock_guard lock(mutex_);
  add(std::move(issue));
}

void News::drifted(std::uint64_t counters) {
  const std::lock_guard lock(mutex_);
  drift_ += counters;
}

void News::add(IssueNews issue) {
  issues_.push_back({++last_, std::move(issue)});
  if (issues_.size() > kMaxNews) issues_.pop_front();
}

std::map<std::string, News::Taken> News::taken_in() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

std::uint64_t News::taken_since(const std::string& dlq, Instant when) const {
  const std::lock_guard lock(mutex_);
  const auto found = lately_.find(dlq);
  std::uint64_t taken = 0;
  if (found != lately_.end())
    for (const auto& [second, letters] : found->second)
      if (second + Duration(1000) > when) taken += letters;
  return taken;
}

std::vector<News::Numbered> News::issues_after(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  std::vector<Numbered> found;
  for (const Numbered& one : issues_)
    if (one.number > number) found.push_back(one);
  return found;
}

std::uint64_t News::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

std::uint64_t News::drift() const {
  const std::lock_guard lock(mutex_);
  return drift_;
}

}  // namespace bartleby
