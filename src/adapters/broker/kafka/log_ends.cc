#include "adapters/broker/kafka/log_ends.h"

#include <algorithm>

namespace bartleby::kafka {
namespace {

constexpr std::chrono::milliseconds kFresh{500};     // an end that was asked for so lately is not asked for again
constexpr std::chrono::milliseconds kOverdue{300};   // after that nobody waits for an answer any more
constexpr std::chrono::milliseconds kTroubled{100};  // what a call waits while one is overdue
constexpr std::chrono::milliseconds kLook{5};        // between two looks at the queue
constexpr Duration kAskLimit{2000};                  // after which librdkafka gives a leader up
constexpr std::size_t kTogether = 1000;
constexpr std::size_t kMostPlaces = 100000;

}  // namespace

LogEnds::LogEnds(std::shared_ptr<Admin> admin) : admin_(std::move(admin)), queue_(admin_->new_queue()) {}

std::map<TopicPartition, Offset> LogEnds::read(const std::vector<TopicPartition>& tps, Duration limit, bool fresh) {
  std::unique_lock lock(mutex_);
  const auto begun = Clock::now();
  take_answers();
  const bool troubled = std::ranges::any_of(
      places_, [&](const auto& one) { return one.second.waiting && begun - one.second.asked > kOverdue; });
  const auto until = begun + (troubled ? std::min<std::chrono::milliseconds>(limit, kTroubled) : limit);
  ask(tps, begun);
  for (auto now = begun; now < until; now = Clock::now()) {
    const bool awaited = std::ranges::any_of(tps, [&](const TopicPartition& tp) {
      const auto at = places_.find(tp);
      return at != places_.end() && at->second.waiting && now - at->second.asked <= kOverdue;
    });
    if (!awaited) break;
    told_.wait_for(lock, kLook);
    take_answers();
  }
  std::map<TopicPartition, Offset> found;
  for (const TopicPartition& tp : tps) {
    const auto at = places_.find(tp);
    if (at == places_.end() || !at->second.end) continue;
    if (!fresh || (!at->second.waiting && !at->second.alone)) found[tp] = *at->second.end;
  }
  return found;
}

void LogEnds::ask(const std::vector<TopicPartition>& tps, Clock::time_point now) {
  if (places_.size() > kMostPlaces) std::erase_if(places_, [](const auto& one) { return !one.second.waiting; });
  std::vector<TopicPartition> together;
  for (const TopicPartition& tp : tps) {
    Place& place = places_[tp];
    if (place.waiting || now - place.asked < kFresh) continue;
    place.waiting = true;
    place.asked = now;
    if (place.alone)
      send({tp});
    else
      together.push_back(tp);
    if (together.size() == kTogether) send(std::exchange(together, {}));
  }
  if (!together.empty()) send(together);
}

void LogEnds::send(const std::vector<TopicPartition>& tps) {
  const std::uint64_t number = ++last_ask_;
  asks_[number] = tps;
  admin_->ask_ends(queue_.get(), number, tps, kAskLimit);
}

void LogEnds::take_answers() {
  bool any = false;
  while (const EventPtr event{rd_kafka_queue_poll(queue_.get(), 0)}) {
    const auto number =
        static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(rd_kafka_event_opaque(event.get())));
    const auto asked = asks_.find(number);
    if (asked == asks_.end()) continue;
    const auto ends = Admin::ends_told(event.get());
    for (const TopicPartition& tp : asked->second) {
      Place& place = places_[tp];
      const auto told = ends.find(tp);
      place.waiting = false;
      place.alone = told == ends.end();
      if (told != ends.end()) place.end = told->second;
    }
    asks_.erase(asked);
    any = true;
  }
  if (any) told_.notify_all();
}

}  // namespace bartleby::kafka
