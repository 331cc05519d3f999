// What sinks do not have yet: a queue in the store for each, filled by the transaction that takes letters in.
//
// The queue is the sink's position: a row leaves it when the sink has acknowledged its letter, and carries all of that
// life, so that purging, archiving or replaying the letter meanwhile loses nothing. A feed is a dlq that a sink is
// told of. One that is new is filled with what the store has (archived letters excepted: their bytes are not here);
// one that nobody configures any more is forgotten by the next letters that pass it by, so that a later one begins
// anew. Inside transactions only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "ports/sink.h"
#include "ports/store.h"

namespace bartleby {

struct QueuedLetter {
  std::int64_t number = 0;
  SinkLetter life;
  std::string damaged{};  // why its bytes cannot be read; empty: they can
};

struct SinkBacklog {
  std::int64_t waiting = 0;                // lives in the queue
  std::int64_t refused = 0;                // put aside: the sink does not take them as they are
  std::optional<Timestamp> oldest{};       // when the first of the queue was taken in
  std::optional<std::string> last_reason;  // of a refusal
};

// Before letters of this dlq are stored: feeds of exactly these sinks.
Result<void> follow_feeds(Connection& connection, const std::string& dlq, std::span<const std::string> sinks);
// The present life of a letter, for each of these sinks.
Result<void> queue_letter(Connection& connection, std::int64_t seq, Timestamp published,
                          std::span<const std::string> sinks);
// One of its lives before the present one.
Result<void> queue_life(Connection& connection, std::int64_t seq, std::int64_t replays,
                        std::span<const std::string> sinks);

// Letters that were there before the feed: those of so many numbers go into the queue. False: there are none left.
Result<bool> fill_queue(Connection& connection, const std::string& sink, std::int64_t numbers);

Result<SinkBacklog> sink_backlog(Connection& connection, const std::string& sink);
// The first of the queue: at most so many, and one more than so many bytes at most.
Result<std::vector<QueuedLetter>> queued_letters(Connection& connection, const std::string& sink, std::size_t letters,
                                                 std::size_t bytes);
// They leave the queue.
Result<void> leave_queue(Connection& connection, const std::string& sink, std::span<const std::int64_t> numbers);
// This one leaves it too, but is put aside. Those that were, up to so many, are queued again, behind all others.
Result<void> put_aside(Connection& connection, const std::string& sink, std::int64_t number, const std::string& why,
                       Timestamp now);
Result<std::int64_t> queue_refused_again(Connection& connection, const std::string& sink, std::size_t letters);

// Sinks that have letters waiting, configured or not.
Result<std::vector<std::string>> sinks_with_letters(Connection& connection);

}  // namespace bartleby
