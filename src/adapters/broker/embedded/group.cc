#include "adapters/broker/embedded/group.h"

#include <algorithm>

namespace bartleby::embedded {

// ---- Members -----------------------------------------------------------------------------------------

void Group::join(Seat* seat, std::vector<std::string> topics, Duration wait) {
  members_.push_back({seat, std::move(topics), wait});
  rebalance();
}

void Group::remove(Seat* seat) {
  const auto gone = std::erase_if(members_, [&](const InGroup& m) { return m.seat == seat; });
  if (gone == 0) return;
  for (auto& [tp, share] : shares_) {
    if (share.owner == seat) share.owner = nullptr, share.revoking = false;
    if (share.target == seat) share.target = nullptr;
    if (share.declined == seat) share.declined = nullptr;
  }
  rebalance();
}

void Group::released(Seat* seat, const TopicPartition& tp) {
  const auto it = shares_.find(tp);
  if (it == shares_.end() || it->second.owner != seat) return;
  Share& share = it->second;
  share.owner = nullptr;
  if (!share.revoking) {
    share.declined = seat;
    share.target = nullptr;
    return;
  }
  share.revoking = false;
  ++generation_;
  if (share.target != nullptr) give(tp, share);
}

void Group::rebalance() {
  ++generation_;
  find_partitions();
  choose_targets();
  apply_targets();
}

void Group::expire(Instant now) {
  for (auto& [tp, share] : shares_) {
    if (!share.revoking || share.deadline > now) continue;
    Seat* late = share.owner;
    share.owner = nullptr;
    share.revoking = false;
    ++generation_;
    late->lost(tp);
    if (share.target != nullptr) give(tp, share);
  }
}

Instant Group::next_deadline() const {
  Instant first = kNever;
  for (const auto& [tp, share] : shares_)
    if (share.revoking) first = std::min(first, share.deadline);
  return first;
}

bool Group::owns(const Seat* seat, const TopicPartition& tp) const {
  const auto it = shares_.find(tp);
  return it != shares_.end() && it->second.owner == seat;
}

std::size_t Group::index_of(const Seat* seat) const {
  std::size_t i = 0;
  while (i < members_.size() && members_[i].seat != seat) ++i;
  return i;
}

void Group::find_partitions() {
  for (const InGroup& member : members_)
    for (const std::string& topic : member.topics)
      for (std::int32_t p = 0; p < world_.partitions(topic); ++p) shares_[{topic, Partition(p)}];
}

bool Group::eligible(const InGroup& member, const TopicPartition& tp, const Share& share) {
  return member.seat != share.declined && std::ranges::find(member.topics, tp.topic) != member.topics.end();
}

// An owner keeps what it has, the rest goes to whoever has least, then the loads are evened out.
void Group::choose_targets() {
  std::vector<std::size_t> load(members_.size(), 0);
  for (auto& [tp, share] : shares_) {
    share.target = share.revoking ? share.target : share.owner;
    const std::size_t holder = index_of(share.target);
    if (share.target == nullptr || holder == members_.size())
      share.target = nullptr;
    else
      ++load[holder];
  }
  for (auto& [tp, share] : shares_) {
    if (share.target != nullptr) continue;
    std::size_t best = members_.size();
    for (std::size_t i = 0; i < members_.size(); ++i)
      if (eligible(members_[i], tp, share) && (best == members_.size() || load[i] < load[best])) best = i;
    if (best == members_.size()) continue;
    share.target = members_[best].seat;
    ++load[best];
  }
  balance(load);
}

void Group::balance(std::vector<std::size_t>& load) {
  for (std::size_t from = 0; from < members_.size(); ++from)
    for (std::size_t to = 0; to < members_.size(); ++to)
      for (auto& [tp, share] : shares_) {
        if (load[from] < load[to] + 2) break;
        if (share.target != members_[from].seat || !eligible(members_[to], tp, share)) continue;
        share.target = members_[to].seat;
        --load[from];
        ++load[to];
      }
}

void Group::apply_targets() {
  for (auto& [tp, share] : shares_) {
    if (share.owner == nullptr && share.target != nullptr) {
      give(tp, share);
    } else if (share.owner != nullptr && share.owner != share.target && !share.revoking) {
      share.revoking = true;
      share.deadline = world_.now() + members_[index_of(share.owner)].wait;
      share.owner->revoked(tp);
    }
  }
}

void Group::give(const TopicPartition& tp, Share& share) {
  if (world_.busy(name_, tp)) return;  // `settle` gives it
  share.owner = share.target;
  share.declined = nullptr;
  share.revoking = false;
  share.owner->assigned(tp);
}

// ---- Offsets -----------------------------------------------------------------------------------------

CommittedOffset Group::committed(const TopicPartition& tp) const {
  const auto it = committed_.find(tp);
  if (it == committed_.end()) return {tp, std::nullopt, {}};
  return {tp, it->second.offset, it->second.metadata};
}

}  // namespace bartleby::embedded
