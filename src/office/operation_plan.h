// A plan: a selection of letters, frozen with what will happen to each, and a report for whoever is about to start it.
//
// Nothing is sent or changed here. Letters are put in the order of their first lives, so that a replay keeps the order
// of each key. What cannot be done is left out and counted by reason. A letter that changes between plan and start is
// noticed by its version when its turn comes. Any thread; bounded by `PlanLimits`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codec/query.h"
#include "model/audit_entry.h"
#include "model/operation_facts.h"
#include "office/newer_messages.h"
#include "ports/store.h"

namespace bartleby {

struct OperationRequest {
  OperationKind kind = OperationKind::kReplay;
  std::optional<Query> query;  // one of the two
  std::vector<std::string> ids;
  std::uint32_t min_attempts = 0;  // letters with fewer are left out
  bool however_often = false;      // the loop guard does not count
  bool what_fits = false;          // of more than one operation takes: as many as it does, not an error
  bool starts_at_once = false;     // it is refused before it is made, where a replay of its dlqs has letters to send
  bool look_in_log = false;        // for newer messages: it takes a while, for plans that somebody reads
  OperationSettings settings;      // `selection`, `…_before` are set later
};

struct Reader {
  std::string group;
  std::string lane;  // its private topic for replays; empty: it has none
};
// Who reads a topic.
struct Readers {
  // NOLINTNEXTLINE(google-explicit-constructor): a list of them is one
  Readers(std::vector<Reader> all = {}, std::string why = {}) : known(std::move(all)), unknown(std::move(why)) {}

  std::vector<Reader> known;
  std::string unknown;  // why there may be others; empty: there are none
};
using ReadersOf = std::function<Readers(const std::string& topic)>;

// Whom a plan asks about what is outside the store.
struct PlanSources {
  ReadersOf readers;
  FinishedIn finished;  // in the log; absent: newer messages are looked for among letters alone
};

struct PlanLimits {
  std::size_t ids = 10000;
  std::size_t letters = 1000000;
  std::size_t looked_at = 2000000;  // letters, those that are left out included
  Duration time{120000};            // for what a plan reads; as long it keeps others from a connection
  // What of a value may be shown to people; absent: all of it.
  std::function<Bytes(const Bytes& value)> shown{};
  std::uint32_t max_replays = 5;     // the loop guard: who came back so often is not sent again
  std::uint32_t max_rate = 1000000;  // per second
  Duration max_undo{std::chrono::hours(24 * 365)};
  std::size_t keys_looked_for = 100000;  // whose newer messages are looked for
  std::size_t edits_tried = 1000;        // letters whose values an edit is tried on
  std::vector<std::string> targets;      // other topics that `to` may name
  bool lanes = true;                     // workers know who signs: private lanes may be used
};

// A new operation in state `planned`. kInvalid: what is asked for cannot be meant; kTooLarge: too many letters, or too
// many to look at; kFenced: it was to start at once, and another replay of its dlqs is in the way.
Result<Operation> plan_operation(Store& store, const OperationRequest& request, const PlanSources& from,
                                 const PlanLimits& limits, const std::string& id, const Actor& actor, Timestamp now);

// A plan that nobody started within a day is cancelled: one of them. False: there was none.
Result<bool> expire_plan(Store& store, Timestamp now);

}  // namespace bartleby
