#include "tests/sim/sim_group.h"

namespace bartleby::sim {

std::size_t utf16_units(const std::string& utf8) {
  std::size_t units = 0;
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80) units += byte >= 0xf0 ? 2 : 1;
  }
  return units;
}

SimGroup::SimGroup(Scheduler& scheduler, const BrokerFaults& faults, Send send, Partitions partitions, Applied applied)
    : scheduler_(scheduler),
      faults_(faults),
      send_(std::move(send)),
      partitions_(std::move(partitions)),
      applied_(std::move(applied)) {}

// ---- Members -----------------------------------------------------------------------------------------

MembershipNo SimGroup::join(ClientNo client, std::vector<std::string> topics) {
  members_.push_back({++last_membership_, client, std::move(topics)});
  rebalance(false);
  return last_membership_;
}

void SimGroup::remove(MembershipNo membership, bool tell_it) {
  if (find(membership) == nullptr) return;
  if (tell_it) tell(membership, GroupMessage::Kind::kExpelled, {});
  std::erase_if(members_, [&](const InGroup& m) { return m.membership == membership; });
  for (auto& [tp, share] : shares_) {
    if (share.owner == membership) share.owner = 0, share.revoking = false;
    if (share.target == membership) share.target = 0;
  }
  rebalance(false);
}

void SimGroup::remove_client(ClientNo client, bool tell_it) {
  for (const InGroup& member : members_)
    if (member.client == client) return remove(member.membership, tell_it);
}

void SimGroup::released(MembershipNo membership, const TopicPartition& tp) {
  const auto it = shares_.find(tp);
  if (it == shares_.end() || it->second.owner != membership) return;
  Share& share = it->second;
  share.owner = 0;
  if (!share.revoking) {
    share.declined = membership;
    share.target = 0;
    return;
  }
  share.revoking = false;
  ++generation_;
  tell_generation();
  if (share.target != 0) give(tp, share);
}

void SimGroup::rebalance(bool shuffle) {
  ++generation_;
  tell_generation();  // first: who is assigned something must know the generation to write with
  find_partitions();
  choose_targets(shuffle);
  apply_targets();
}

void SimGroup::bump_generation() {
  ++generation_;
  tell_generation();
}

bool SimGroup::valid(MembershipNo membership, std::int32_t generation) const {
  return generation == generation_ && find(membership) != nullptr;
}

std::optional<ClientNo> SimGroup::owner(const TopicPartition& tp) const {
  const auto it = shares_.find(tp);
  if (it == shares_.end() || it->second.owner == 0) return std::nullopt;
  return find(it->second.owner)->client;
}

void SimGroup::find_partitions() {
  for (const InGroup& member : members_)
    for (const std::string& topic : member.topics)
      for (std::int32_t p = partitions_(topic) - 1; p >= 0; --p) {
        const TopicPartition tp{topic, Partition(p)};
        if (!shares_.contains(tp))
          shares_[tp];
        else
          break;  // lower ones are known since the higher one is
      }
}

bool SimGroup::eligible(const InGroup& member, const TopicPartition& tp, const Share& share) const {
  return member.membership != share.declined &&
         std::find(member.topics.begin(), member.topics.end(), tp.topic) != member.topics.end();
}

// Sticky: an owner keeps what it has, the rest goes to whoever has least, then the loads are evened out.
void SimGroup::choose_targets(bool shuffle) {
  std::vector<std::size_t> load(members_.size(), 0);
  for (auto& [tp, share] : shares_) {
    const MembershipNo wish = share.revoking ? share.target : share.owner;
    const InGroup* holder = wish == 0 ? nullptr : find(wish);
    if (holder == nullptr || (shuffle && !share.revoking)) {
      share.target = 0;
      continue;
    }
    share.target = wish;
    ++load[static_cast<std::size_t>(holder - members_.data())];
  }
  for (auto& [tp, share] : shares_) {
    if (share.target != 0) continue;
    std::vector<std::size_t> best;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (!eligible(members_[i], tp, share)) continue;
      if (!shuffle && !best.empty() && load[i] > load[best.front()]) continue;
      if (!shuffle && !best.empty() && load[i] < load[best.front()]) best.clear();
      best.push_back(i);
    }
    if (best.empty()) continue;
    const std::size_t chosen = best[shuffle ? scheduler_.random().below(best.size()) : 0];
    share.target = members_[chosen].membership;
    ++load[chosen];
  }
  if (!shuffle) balance(load);
}

void SimGroup::balance(std::vector<std::size_t>& load) {
  for (std::size_t from = 0; from < members_.size(); ++from) {
    for (std::size_t to = 0; to < members_.size(); ++to) {
      for (auto& [tp, share] : shares_) {
        if (load[from] < load[to] + 2) break;
        if (share.target != members_[from].membership || !eligible(members_[to], tp, share)) continue;
        share.target = members_[to].membership;
        --load[from];
        ++load[to];
      }
    }
  }
}

void SimGroup::apply_targets() {
  for (auto& [tp, share] : shares_) {
    if (share.owner == 0 && share.target != 0)
      give(tp, share);
    else if (share.owner != 0 && share.owner != share.target && !share.revoking)
      revoke(tp, share);
  }
}

void SimGroup::give(const TopicPartition& tp, Share& share) {
  share.owner = share.target;
  share.declined = 0;
  share.revoking = false;
  tell(share.owner, GroupMessage::Kind::kAssigned, tp);
}

void SimGroup::revoke(const TopicPartition& tp, Share& share) {
  share.revoking = true;
  share.ticket = ++last_ticket_;
  tell(share.owner, GroupMessage::Kind::kRevoked, tp);
  scheduler_.after(faults_.rebalance_timeout, [this, tp, ticket = share.ticket] {
    const Share& late = shares_[tp];
    if (late.revoking && late.ticket == ticket) remove(late.owner, true);
  });
}

void SimGroup::tell_generation() {
  for (const InGroup& member : members_) tell(member.membership, GroupMessage::Kind::kGeneration, {});
}

void SimGroup::tell(MembershipNo membership, GroupMessage::Kind kind, const TopicPartition& tp) {
  const InGroup* member = find(membership);
  BARTLEBY_ASSERT(member != nullptr);
  send_(member->client, {kind, membership, generation_, tp});
}

SimGroup::InGroup* SimGroup::find(MembershipNo membership) {
  for (InGroup& member : members_)
    if (member.membership == membership) return &member;
  return nullptr;
}

const SimGroup::InGroup* SimGroup::find(MembershipNo membership) const {
  return const_cast<SimGroup*>(this)->find(membership);
}

// ---- Offsets -----------------------------------------------------------------------------------------

void SimGroup::add_pending(TxnId txn, const TopicPartition& tp, Offset offset, std::string metadata) {
  pending_.push_back({txn, tp, {offset, std::move(metadata), ++sequence_}});
}

void SimGroup::finish(TxnId txn, bool commit) {
  for (PendingOffset& waiting : pending_) {
    if (waiting.txn != txn || !commit) continue;
    const auto it = committed_.find(waiting.tp);
    if (it != committed_.end() && it->second.sequence > waiting.value.sequence) continue;  // written later: wins
    Stored& stored = committed_[waiting.tp];
    stored = std::move(waiting.value);
    if (applied_) applied_(waiting.tp, stored.offset, stored.metadata);
  }
  std::erase_if(pending_, [&](const PendingOffset& p) { return p.txn == txn; });
}

void SimGroup::set(const TopicPartition& tp, Offset offset, std::string metadata) {
  committed_[tp] = {offset, std::move(metadata), ++sequence_};
}

bool SimGroup::pending(const TopicPartition& tp) const {
  return std::any_of(pending_.begin(), pending_.end(), [&](const PendingOffset& p) { return p.tp == tp; });
}

CommittedOffset SimGroup::committed(const TopicPartition& tp) const {
  const auto it = committed_.find(tp);
  if (it == committed_.end()) return {tp, std::nullopt, {}};
  return {tp, it->second.offset, it->second.metadata};
}

}  // namespace bartleby::sim
