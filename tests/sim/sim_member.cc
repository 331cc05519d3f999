#include "tests/sim/sim_member.h"

namespace bartleby::sim {

SimMember::SimMember(SimCluster& cluster, ClientNo number, GroupSpec spec, std::string transactional_id)
    : cluster_(cluster), number_(number), spec_(std::move(spec)), transactional_id_(std::move(transactional_id)) {
  writer_id_ = transactional_id_;
}

SimMember::~SimMember() {
  if (alive_) die();
  cluster_.members_[number_] = nullptr;
}

// ---- Events ------------------------------------------------------------------------------------------

void SimMember::poll(std::vector<BrokerEvent>& out, Duration wait) {
  if (wait > Duration(0)) {
    const Instant limit = scheduler().now() + wait;
    while (!has_events() && scheduler().step_until(limit)) {
    }
  }
  if (!has_events()) return;
  std::move(events_.begin(), events_.end(), std::back_inserter(out));
  events_.clear();
  if (!alive_) return;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (slots_[i].queued == 0) continue;
    slots_[i].queued = 0;
    fetch(i);
  }
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (!ranges_[i]->queued) continue;
    ranges_[i]->queued = false;
    read_slice(ranges_[i]);
  }
}

void SimMember::push(BrokerEvent event) {
  events_.push_back(std::move(event));
  if (events_.size() == 1) notify();
}

void SimMember::notify() {
  if (ready_ && has_events()) ready_();
}

void SimMember::recall(PartitionRef ref, bool all) {
  Slot* mine = slot(ref);
  bool rewound = false;
  bool recalled = all;
  std::erase_if(events_, [&](const BrokerEvent& event) {
    if (const auto* fetched = std::get_if<RecordsFetched>(&event); fetched && fetched->ref == ref) {
      if (mine != nullptr && !rewound) mine->position = fetched->records.front().offset;
      rewound = recalled = true;
      return true;
    }
    if (const auto* end = std::get_if<EndReached>(&event); end && end->ref == ref) {
      if (mine != nullptr) mine->end_told = Offset(-1);
      recalled = true;
      return true;
    }
    const auto* out_of_range = std::get_if<PositionOutOfRange>(&event);
    return all && out_of_range && out_of_range->ref == ref;
  });
  if (mine == nullptr || !recalled) return;
  ++mine->run;  // a fetch on its way goes on behind what was taken back: its answer must be dropped
  mine->fetching = false;
  mine->queued = 0;
}

void SimMember::to_client(SimCluster& cluster, ClientNo client, Duration latency, ClientTask task) {
  cluster.scheduler_.after(latency, [&cluster, client, task = std::move(task)]() mutable {
    if (SimMember* member = cluster.live(client)) member->arrive(std::move(task));
  });
}

void SimMember::arrive(ClientTask task) {
  if (frozen_ || !deferred_.empty())
    deferred_.push_back(std::move(task));
  else
    task(*this);
}

// ---- The group ---------------------------------------------------------------------------------------

void SimMember::join_group() {
  scheduler().after(latency(), [&cluster = cluster_, client = number_, name = spec_.group, topics = spec_.topics,
                                session = spec_.session] {
    SimGroup& group = cluster.group(name);
    group.join(client, topics);
    if (cluster.live(client) != nullptr) return;
    cluster.scheduler_.after(session, [&group, client] { group.remove_client(client, false); });
  });
}

void SimMember::receive(GroupMessage message) {
  // One connection, so the messages of the group keep their order whatever each one's latency.
  inbox_.push_back(std::move(message));
  inbox_time_ = std::max(inbox_time_, scheduler().now() + latency());
  scheduler().at(inbox_time_, [&cluster = cluster_, client = number_] {
    SimMember* member = cluster.live(client);
    if (member == nullptr) return;
    member->arrive([](SimMember& m) {
      const GroupMessage first = std::move(m.inbox_.front());
      m.inbox_.pop_front();
      m.handle(first);
    });
  });
}

void SimMember::handle(const GroupMessage& message) {
  membership_ = message.membership;
  generation_ = message.generation;
  switch (message.kind) {
    case GroupMessage::Kind::kGeneration:
      return;
    case GroupMessage::Kind::kAssigned:
      return assigned(message.tp);
    case GroupMessage::Kind::kExpelled:
      return expelled();
    case GroupMessage::Kind::kRevoked:
      for (std::uint32_t i = 0; i < slots_.size(); ++i)
        if (slots_[i].owned && slots_[i].tp == message.tp) {
          push(PartitionRevoked{{i, slots_[i].epoch}});
          if (fails(cluster_.faults_.p_late_records)) hand_out_late(i);
        }
      return;
  }
}

void SimMember::assigned(const TopicPartition& tp) {
  std::uint32_t index = 0;
  while (index < slots_.size() && slots_[index].owned) ++index;
  if (index == slots_.size()) slots_.emplace_back();
  Slot& fresh = slots_[index];
  const std::uint32_t run = fresh.run + 1;
  fresh = Slot{};
  fresh.tp = tp;
  fresh.epoch = last_epoch_ = Epoch(last_epoch_.v + 1);
  fresh.owned = true;
  fresh.run = run;
  push(PartitionAssigned{{index, fresh.epoch}, tp});
}

void SimMember::expelled() {
  membership_ = 0;
  generation_ = -1;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].owned) continue;
    slots_[i].owned = false;
    push(PartitionLost{{i, slots_[i].epoch}});
  }
  join_group();
}

SimMember::Slot* SimMember::slot(PartitionRef ref) {
  if (!alive_ || ref.index >= slots_.size()) return nullptr;
  Slot& found = slots_[ref.index];
  return found.owned && found.epoch == ref.epoch ? &found : nullptr;
}

void SimMember::release(PartitionRef ref) {
  Slot* mine = slot(ref);
  if (mine == nullptr) return;
  recall(ref, true);
  mine->owned = false;
  scheduler().after(latency(), [&cluster = cluster_, name = spec_.group, membership = membership_, tp = mine->tp] {
    cluster.group(name).released(membership, tp);
  });
}

void SimMember::leave() {
  if (!alive_) return;
  alive_ = false;
  events_.clear();
  scheduler().after(latency(), [&cluster = cluster_, client = number_, name = spec_.group] {
    cluster.group(name).remove_client(client, false);
  });
}

// ---- What befalls it ---------------------------------------------------------------------------------

void SimMember::freeze() {
  if (!alive_ || frozen_) return;
  frozen_ = true;
  scheduler().after(spec_.session, [&cluster = cluster_, client = number_, name = spec_.group, freeze = ++freezes_] {
    const SimMember* member = cluster.live(client);
    if (member != nullptr && member->frozen_ && member->freezes_ == freeze)
      cluster.group(name).remove_client(client, true);
  });
}

void SimMember::thaw() {
  if (!alive_ || !frozen_) return;
  frozen_ = false;
  scheduler().after(Duration(0), [&cluster = cluster_, client = number_] {
    if (SimMember* member = cluster.live(client)) member->notify();
  });
  // What it had buffered comes first; what arrived meanwhile, such as the news that it is out, comes later.
  deferred_.push_front([](SimMember&) {});  // so that what arrives before the others have run waits too
  scheduler().after(latency() + Duration(1), [&cluster = cluster_, client = number_] {
    SimMember* member = cluster.live(client);
    while (member != nullptr && member->alive_ && !member->frozen_ && !member->deferred_.empty()) {
      ClientTask task = std::move(member->deferred_.front());
      member->deferred_.pop_front();
      task(*member);
    }
  });
}

void SimMember::die() {
  if (!alive_) return;
  alive_ = false;
  events_.clear();
  scheduler().after(spec_.session, [&cluster = cluster_, client = number_, name = spec_.group] {
    cluster.group(name).remove_client(client, false);
  });
}

void SimMember::fail(std::string message) {
  push(MemberFailed{true, std::move(message)});
  alive_ = false;
  scheduler().after(latency(), [&cluster = cluster_, client = number_, name = spec_.group] {
    cluster.group(name).remove_client(client, false);
  });
}

}  // namespace bartleby::sim
