#include "office/news.h"

namespace bartleby {

void News::heard(const std::string& dlq, const IntakeReport& report) {
  const std::lock_guard lock(mutex_);
  Taken& taken = taken_[dlq];
  taken.stored += report.stored;
  taken.came_back += report.came_back;
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
