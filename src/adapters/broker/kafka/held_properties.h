// Which properties of librdkafka nobody may set, and why: each of them holds a guarantee, or is said elsewhere.
//
// A table, and the question. It needs no librdkafka, so that a configuration is checked alike by every build.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace bartleby::kafka {

struct Held {
  std::string_view name;
  std::string_view why;
};
inline constexpr std::array kHeld = {
    Held{"bootstrap.servers", "say it as bootstrap"},
    Held{"metadata.broker.list", "say it as bootstrap"},
    Held{"group.id", "say it as the worker's group"},
    Held{"group.protocol", "say it as group_protocol"},
    Held{"group.instance.id", "a member that comes back under its old name would be taken for one that never left"},
    Held{"isolation.level", "records that were taken back must never be handled"},
    Held{"enable.auto.commit", "only a write with its verdicts may move an offset"},
    Held{"enable.auto.offset.store", "only a write with its verdicts may move an offset"},
    Held{"auto.offset.reset", "a position that is gone is an incident, never a silent jump"},
    Held{"enable.partition.eof", "ends must be told"},
    Held{"partition.assignment.strategy", "partitions are handed over one by one, after their last write"},
    Held{"transactional.id", "it names the writer whose transactions the next owner ends"},
    Held{"transaction.timeout.ms", "writes and takeovers count on it"},
    Held{"message.timeout.ms", "a record's time must end before its transaction's"},
    Held{"delivery.timeout.ms", "a record's time must end before its transaction's"},
    Held{"enable.idempotence", "without it records could be written twice"},
    Held{"acks", "what is acknowledged must be on all replicas in step"},
    Held{"request.required.acks", "what is acknowledged must be on all replicas in step"},
    Held{"max.in.flight.requests.per.connection", "the order of records counts on it"},
    Held{"max.in.flight", "the order of records counts on it"},
    Held{"partitioner", "a key must have the partition that every other client gives it"},
    Held{"allow.auto.create.topics", "topics are created with their settings, or not at all"},
    Held{"delivery.report.only.error", "what was written must be told"},
    Held{"check.crcs", "damaged records must not be handled"},
};

// The reason why a property may not be set, and where else to say it; nothing: it may.
constexpr std::optional<std::string_view> held_property(std::string_view name) {
  for (const Held& held : kHeld)
    if (held.name == name) return held.why;
  return std::nullopt;
}

}  // namespace bartleby::kafka
