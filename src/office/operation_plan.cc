#include "office/operation_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "codec/json_patch.h"
#include "codec/operation_text.h"
#include "codec/topic_name.h"
#include "codec/utf8.h"
#include "office/audit.h"
#include "office/item_tally.h"
#include "office/letters.h"
#include "office/operation_row.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr Duration kPlanLives{std::chrono::hours(24)};
constexpr std::size_t kPreviews = 3;
constexpr std::size_t kPreviewBytes = 400;
constexpr const char* kNoLanes =
    "a private lane on Kafka wants signing.office in the configuration, the same for the office and for the workers";

// What the plan keeps of a letter: there may be a million.
struct Chosen {
  std::int64_t seq, version;
  std::uint32_t replays;
  std::uint32_t target;  // index; of a replay
  std::int32_t partition;
  std::int64_t offset;              // of the first life
  std::optional<std::int64_t> key;  // its hash, where newer messages of it are looked for
  bool overtaken = false;
};

struct Target {
  std::string from, topic, group;
  auto operator<=>(const Target&) const = default;
};

LetterCause cause_of(OperationKind kind) {
  constexpr std::array kCauses = {LetterCause::kReplay, LetterCause::kDiscard, LetterCause::kRestore,
                                  LetterCause::kPurge};
  return kCauses[static_cast<std::size_t>(kind)];
}

bool can_be_done(OperationKind kind, LetterState state) {
  // Archived letters are restored from their archive.
  if (kind == OperationKind::kRestore && state == LetterState::kArchived) return false;
  return next_state(state, cause_of(kind)).has_value();
}

// What the query asks for may be millions of letters, each of which would be left out.
Result<void> check_states(const OperationRequest& request) {
  constexpr std::array kDone = {"replayed", "discarded", "restored", "purged"};
  std::string states;
  for (std::size_t s = 0; s < kLetterStates; ++s) {
    const bool asked_for = std::ranges::all_of(request.query->terms, [&](const QueryTerm& t) {
      return t.field != QueryField::kState || (t.text == kLetterStateNames[s]) != t.negated;
    });
    if (!asked_for) continue;
    if (can_be_done(request.kind, static_cast<LetterState>(s))) return {};
    states += (states.empty() ? "" : " or ") + std::string(kLetterStateNames[s]);
  }
  if (states.empty()) return {};  // no letter is what the query asks for
  return fail(ErrorCode::kInvalid, "letters that are " + states + " cannot be " +
                                       kDone[static_cast<std::size_t>(request.kind)] + " by an operation");
}

class Planner {
 public:
  Planner(const OperationRequest& request, const ReadersOf& readers, const PlanLimits& limits)
      : request_(request), readers_(readers), limits_(limits) {}

  Result<void> select(Connection& connection, Timestamp now) {
    if (request_.starts_at_once && request_.kind == OperationKind::kReplay) {
      const auto sending = sending_replays(connection);
      if (!sending) return std::unexpected(sending.error());
      for (const SendingReplay& one : *sending)
        for (const std::string& dlq : one.dlqs) sending_.emplace(dlq, one.id);
    }
    if (!request_.query) {
      std::set<std::string_view> seen;
      for (const std::string& id : request_.ids) {
        const auto row = letter_row(connection, std::string_view(id));
        if (!row) return std::unexpected(row.error());
        if (!*row)
          exclude("there is no such letter");
        else if (seen.insert(id).second && numbers_.insert((*row)->letter.seq).second)
          BARTLEBY_TRY(consider((*row)->letter));
      }
      return {};
    }
    Query query = *request_.query;
    // Without a word about states it means those that it can be done to, not all that were ever dealt with.
    const bool says_state = std::ranges::find(query.terms, QueryField::kState, &QueryTerm::field) != query.terms.end();
    if (!says_state && request_.kind != OperationKind::kPurge) {
      QueryTerm term;
      term.field = QueryField::kState;
      term.text = name(request_.kind == OperationKind::kRestore ? LetterState::kDiscarded : LetterState::kOpen);
      query.terms.push_back(std::move(term));
    }
    std::optional<LetterCursor> after;
    std::size_t looked = 0;
    do {
      const auto page = letter_page(connection, query, now, after, kMaxPage);
      if (!page) return std::unexpected(page.error());
      for (const StoredLetter& letter : page->letters) {
        if (request_.what_fits && chosen_.size() >= limits_.letters) {
          report_.warnings.push_back("there are more than " + std::to_string(limits_.letters) +
                                     " letters; ask again for the others");
          return {};
        }
        BARTLEBY_TRY(consider(letter));
      }
      if (chosen_.size() > limits_.letters)
        return fail(ErrorCode::kTooLarge, "the selection has more than " + std::to_string(limits_.letters) +
                                              " letters; make it narrower, with since: and before:");
      after = page->next;
      looked += page->looked;
    } while (after && looked < limits_.looked_at);
    if (!after) return {};
    const std::string most = std::to_string(limits_.looked_at);
    if (!request_.what_fits)
      return fail(ErrorCode::kTooLarge, "more than " + most +
                                            " letters would have to be looked at; make the selection narrower, with "
                                            "state:, since: and before:");
    report_.warnings.push_back("only the newest " + most + " letters were looked at");
    return {};
  }

  // The order of first lives: of one key they lie in one partition, so this is the order they were written in.
  void put_in_order() {
    std::vector<std::uint32_t> rank(targets_.size());
    std::vector<std::pair<Target, std::uint32_t>> sorted;
    for (const auto& [target, index] : targets_) sorted.emplace_back(target, index);
    for (std::uint32_t i = 0; i < sorted.size(); ++i) rank[sorted[i].second] = i;
    std::ranges::sort(chosen_, {}, [&](const Chosen& c) {
      return std::tuple(targets_.empty() ? 0U : rank[c.target], c.partition, c.offset, c.seq);
    });
  }

  // Where each key has its oldest letter: a key may have very many, and is looked up once.
  Result<void> find_keys(Connection& connection) {
    if (request_.kind != OperationKind::kReplay) return {};
    const auto by_index = targets_by_index();
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      Chosen& c = chosen_[i];
      const auto key = sql::one(
          connection, "SELECT key_hash FROM letters WHERE seq = $1", [](Rows& row) { return row.maybe(0); }, c.seq);
      if (!key) return std::unexpected(key.error());
      if (!*key || !**key || by_index[c.target]->from.empty()) continue;  // without key and topic there is no order
      if (oldest_.size() == limits_.keys_looked_for) {
        report_.warnings.push_back("newer messages of the same keys were looked for among the first " +
                                   std::to_string(i) + " letters only");
        return {};
      }
      c.key = **key;
      const auto [known, fresh] = oldest_.try_emplace(place_of(c, by_index), c.offset);
      if (!fresh) known->second = std::min(known->second, c.offset);
    }
    return {};
  }

  const KeyOffsets& oldest_letters() const { return oldest_; }

  Result<void> mark_conflicts(Connection& connection, const FinishedMessages& in_log) {
    report_.warnings.insert(report_.warnings.end(), in_log.warnings.begin(), in_log.warnings.end());
    const auto newest = newest_handled(connection, oldest_, in_log);
    if (!newest) return std::unexpected(newest.error());
    const auto by_index = targets_by_index();
    for (Chosen& c : chosen_) {
      if (!c.key) continue;
      const auto handled = newest->find(place_of(c, by_index));
      c.overtaken = handled != newest->end() && handled->second > c.offset;
      report_.order_conflicts += c.overtaken ? 1 : 0;
    }
    return {};
  }

  // What the edit makes of the first letters. What it does not apply to is left out when its turn comes, and told now.
  Result<void> try_edit(Connection& connection) {
    if (request_.settings.edit.empty()) return {};
    const auto patch = JsonPatch::parse(request_.settings.edit);
    if (!patch) return fail(ErrorCode::kInvalid, patch.error().message);
    const std::size_t tried = std::min(chosen_.size(), limits_.edits_tried);
    std::size_t failed = 0;
    std::string first;
    for (std::size_t i = 0; i < tried; ++i) {
      const auto row = letter_row(connection, chosen_[i].seq);
      if (!row) return std::unexpected(row.error());
      const auto payload = letter_payload(connection, chosen_[i].seq);
      const bool damaged = !payload && (payload.error().code == ErrorCode::kMalformed ||
                                        payload.error().code == ErrorCode::kUnsupported);
      if (!payload && !damaged) return std::unexpected(payload.error());
      if (!*row || (payload && !*payload)) continue;
      const std::string& id = (*row)->letter.id;
      if (damaged) {  // it is given back when its turn comes, and the others go
        if (failed++ == 0) first = id + ": " + payload.error().message;
        continue;
      }
      const Bytes& value = (*payload)->value;
      const auto edited = value ? patch->apply(*value) : fail(ErrorCode::kInvalid, "it has no value");
      if (!edited && failed++ == 0) first = id + ": " + edited.error().message;
      if (edited && report_.previews.size() < kPreviews)
        report_.previews.push_back({id, preview(value), preview(Bytes(*edited))});
    }
    if (failed > 0)
      report_.warnings.push_back("the edit does not apply to " + std::to_string(failed) + " of the first " +
                                 std::to_string(tried) + " letters, which will be left out: " + first);
    return {};
  }

  PlanReport report() {
    for (const auto& [why, letters] : excluded_) report_.excluded.push_back({why, letters});
    std::set<std::string> others;
    std::map<std::pair<std::string, std::string>, std::int64_t> to;
    const auto by_index = targets_by_index();
    for (const Chosen& c : chosen_)
      if (request_.kind == OperationKind::kReplay) ++to[{by_index[c.target]->topic, by_index[c.target]->group}];
    for (const auto& [where, letters] : to) {
      report_.to.push_back({where.first, where.second, letters});
      const bool lane = std::ranges::any_of(lanes_, [&](const std::string& l) { return l == where.first; });
      const Readers readers = readers_(where.first);
      for (const Reader& reader : readers.known)
        if (reader.group != where.second) others.insert(reader.group);
      if (!readers.unknown.empty() && !lane)
        report_.warnings.push_back("who else reads " + where.first + " is not known now: " + readers.unknown);
      if (readers.known.empty() && !lane)
        report_.warnings.push_back("no worker of this process reads " + where.first +
                                   ": what becomes of these letters will not be known");
    }
    report_.also_read_by.assign(others.begin(), others.end());
    std::set<std::string> spared;
    for (const auto& [target, index] : targets_)
      if (lanes_.contains(target.topic))
        for (const Reader& reader : readers_of_[target.from].known)
          if (reader.group != target.group) spared.insert(reader.group);
    report_.spared.assign(spared.begin(), spared.end());
    if (unanswered_ && request_.settings.canary > 0)
      report_.warnings.push_back("nobody of their group reads " + request_.settings.to +
                                 ": what becomes of these letters is not awaited, so there is no canary");
    const std::uint32_t rate = request_.settings.rate;
    if (request_.kind == OperationKind::kReplay && rate > 0)
      report_.seconds = (static_cast<std::int64_t>(chosen_.size()) + rate - 1) / rate;
    return std::move(report_);
  }

  // Sent to another topic, where nobody of their group reads.
  bool unanswered() const { return unanswered_; }

  std::string dlqs() const {
    std::string text;
    for (const std::string& dlq : dlqs_) text += (text.empty() ? "" : " ") + dlq;
    return text;
  }

  Result<void> insert(Connection& connection, std::int64_t operation, Timestamp now) const {
    const auto by_index = targets_by_index();
    std::int64_t position = 0;
    for (const Chosen& c : chosen_) {
      const auto statement = connection.statement(
          "INSERT INTO operation_items(operation, position, letter, replays, version, result, note, to_topic,"
          " changed_at) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9)");
      if (!statement) return std::unexpected(statement.error());
      Rows row(**statement);
      row << operation << position++ << c.seq << c.replays << c.version << static_cast<int>(ItemResult::kPending)
          << (c.overtaken ? "a newer message of its key was handled already" : "");
      if (request_.kind == OperationKind::kReplay)
        row << by_index[c.target]->topic;
      else
        row << std::nullopt;
      row << ms(now);
      if (auto ran = row.run(); !ran) return ran;
    }
    ItemTally tally;
    tally.move(operation, std::nullopt, ItemResult::kPending, letters());
    return tally.apply(connection, now);
  }

  std::int64_t letters() const { return static_cast<std::int64_t>(chosen_.size()); }

 private:
  std::vector<const Target*> targets_by_index() const {
    std::vector<const Target*> by_index(targets_.size());
    for (const auto& [target, index] : targets_) by_index[index] = &target;
    return by_index;
  }

  static KeyPlace place_of(const Chosen& c, const std::vector<const Target*>& by_index) {
    return {by_index[c.target]->from, c.partition, *c.key, by_index[c.target]->group};
  }

  void exclude(const std::string& why) { ++excluded_[why]; }

  std::string preview(const Bytes& value) const {
    return clean_utf8(*(limits_.shown ? limits_.shown(value) : value), {.bytes = kPreviewBytes});
  }

  Result<void> consider(const StoredLetter& letter) {
    const auto leave_out = [&](const std::string& why) -> Result<void> {
      exclude(why);
      return {};
    };
    if (request_.kind == OperationKind::kRestore && letter.state == LetterState::kArchived)
      return leave_out("archived letters are restored from their archive");
    if (!can_be_done(request_.kind, letter.state)) return leave_out("it is " + std::string(name(letter.state)));
    if (letter.attempts < request_.min_attempts) return leave_out("its retries are not exhausted");
    Chosen chosen{letter.seq, letter.version, letter.replays, 0, letter.job.partition.v, letter.job.offset.v,
                  {},         false};
    if (request_.kind == OperationKind::kReplay) {
      if (letter.replays >= limits_.max_replays && !request_.however_often) return leave_out("max replays");
      const auto target = target_of(letter);
      if (!target) return {};
      chosen.target = targets_.try_emplace(*target, static_cast<std::uint32_t>(targets_.size())).first->second;
    }
    dlqs_.insert(letter.shelf.dlq);
    report_.bytes += static_cast<std::int64_t>(letter.size);
    chosen_.push_back(chosen);
    // Seen with the second letter, not after a million: the first may be the only one, which goes beside others.
    if (const auto sends = sending_.find(letter.shelf.dlq); sends != sending_.end()) in_the_way_ = sends->second;
    if (in_the_way_.empty() || chosen_.size() < 2) return {};
    return fail(ErrorCode::kFenced, sends_already(in_the_way_));
  }

  // To the original topic where nobody else reads it, else to the group's private lane, else somebody must say.
  std::optional<Target> target_of(const StoredLetter& letter) {
    const std::string& topic = letter.shelf.topic;
    const std::string& group = letter.shelf.group;
    if (!request_.settings.to.empty()) {
      if (!to_) to_ = readers_(request_.settings.to).known;
      unanswered_ = unanswered_ || std::ranges::find(*to_, group, &Reader::group) == to_->end();
      return Target{topic, request_.settings.to, group};
    }
    if (topic.empty()) return exclude("it is not known where it came from; name a topic with to"), std::nullopt;
    // Whoever can write to a dlq could have others write to a journal.
    if (is_kept_topic(topic))
      return exclude("it names a topic of Bartleby's own, which takes no messages"), std::nullopt;
    auto [known, fresh] = readers_of_.try_emplace(topic);
    if (fresh) known->second = readers_(topic);
    const std::vector<Reader>& readers = known->second.known;
    const std::string& unknown = known->second.unknown;
    const auto own = std::ranges::find(readers, group, &Reader::group);
    const bool alone = readers.empty() || (readers.size() == 1 && own != readers.end());
    const std::optional<ReplayScope> asked = request_.settings.scope;
    if (!asked && !unknown.empty())
      return exclude("who else reads " + topic + " is not known now (" + unknown + "); say a scope, or to"),
             std::nullopt;
    if (asked == ReplayScope::kTopic || (!asked && alone)) return Target{topic, topic, group};
    if (own != readers.end() && !own->lane.empty() && !limits_.lanes)
      return exclude("other groups read " + topic + ", and " + kNoLanes + "; or say scope topic or to"), std::nullopt;
    if (own != readers.end() && !own->lane.empty()) {
      lanes_.insert(own->lane);
      return Target{topic, own->lane, group};
    }
    exclude(asked ? "group " + group + " has no private lane here; say scope topic or to"
                  : "other groups read " + topic + "; say scope topic or to");
    return std::nullopt;
  }

  const OperationRequest& request_;
  const ReadersOf& readers_;
  const PlanLimits& limits_;
  std::vector<Chosen> chosen_;
  std::set<std::int64_t> numbers_;
  std::map<Target, std::uint32_t> targets_;
  std::optional<std::vector<Reader>> to_;       // who reads `to`
  bool unanswered_ = false;                     // for some nobody there would tell what became of them
  std::map<std::string, std::string> sending_;  // replays that send, by dlq; where it is to start at once
  std::string in_the_way_;                      // one of them
  std::map<std::string, Readers> readers_of_;
  std::set<std::string> lanes_, dlqs_;
  KeyOffsets oldest_;
  std::map<std::string, std::int64_t> excluded_;
  PlanReport report_;
};

Result<void> check(const OperationRequest& request, const PlanLimits& limits) {
  const OperationSettings& s = request.settings;
  const auto bad = [](const std::string& why) { return fail(ErrorCode::kInvalid, why); };
  if (request.query.has_value() == !request.ids.empty()) return bad("say either a query or ids");
  if (request.ids.size() > limits.ids)
    return fail(ErrorCode::kTooLarge, "at most " + std::to_string(limits.ids) + " ids; use a query for more");
  if (request.kind != OperationKind::kReplay && (s.scope || !s.to.empty())) return bad("scope and to are for replays");
  if (request.kind != OperationKind::kReplay && !s.edit.empty()) return bad("an edit is for replays");
  if (s.scope && !s.to.empty()) return bad("say either a scope or another topic");
  if (s.scope == ReplayScope::kGroup && !limits.lanes) return bad(kNoLanes);
  if (!s.to.empty() && std::ranges::find(limits.targets, s.to) == limits.targets.end())
    return bad("letters may not be sent to " + s.to + "; it is not among the targets of the configuration");
  if (s.rate > limits.max_rate) return bad("the rate is at most " + std::to_string(limits.max_rate) + " per second");
  if (s.halt.percent > 100) return bad("halt at so many percent: 0 to 100");
  if (s.halt.of == 0) return bad("halt needs a number of outcomes to judge by: at least 1");
  if (s.undo < Duration(0) || s.undo > limits.max_undo) return bad("undo is at most a year");
  return request.query ? check_states(request) : Result<void>();
}

}  // namespace

Result<Operation> plan_operation(Store& store, const OperationRequest& request, const PlanSources& from,
                                 const PlanLimits& limits, const std::string& id, const Actor& actor, Timestamp now) {
  if (auto fine = check(request, limits); !fine) return std::unexpected(fine.error());
  Planner planner(request, from.readers, limits);
  const bool in_log = request.look_in_log && from.finished;
  // Read in one snapshot and written in a transaction of its own: nobody waits while a large plan is put together.
  const auto read = store.read([&](Connection& connection) -> Result<void> {
    connection.limit_time(limits.time);
    BARTLEBY_TRY(planner.select(connection, now));
    planner.put_in_order();
    BARTLEBY_TRY(planner.try_edit(connection));
    BARTLEBY_TRY(planner.find_keys(connection));
    return in_log ? Result<void>() : planner.mark_conflicts(connection, {});
  });
  if (!read) return std::unexpected(read.error());
  if (in_log) {
    // The log before the letters: a message that dies in between is known as dead, not taken for handled.
    const FinishedMessages finished = from.finished(planner.oldest_letters());
    BARTLEBY_TRY(store.read([&](Connection& connection) {
      connection.limit_time(limits.time);
      return planner.mark_conflicts(connection, finished);
    }));
  }
  OperationSettings settings = request.settings;
  if (planner.unanswered()) settings.canary = 0;  // it would be awaited in vain
  settings.selection = request.query ? query_text(*request.query) : std::to_string(request.ids.size()) + " ids";
  // It asks who reads what, and a slow cluster must not hold up who writes.
  const std::string report = report_text(planner.report());
  std::optional<Operation> made;
  const auto written = store.write([&](Connection& connection) -> Result<void> {
    const auto seq = sql::take_numbers(connection, "operation", 1);
    if (!seq) return std::unexpected(seq.error());
    BARTLEBY_TRY(sql::execute(
        connection,
        "INSERT INTO operations(seq, id, kind, state, version, dlq, settings, report, letters, actor, reason,"
        " created_at) VALUES($1, $2, $3, $4, 1, $5, $6, $7, $8, $9, $10, $11)",
        *seq, id, static_cast<int>(request.kind), static_cast<int>(OperationState::kPlanned), planner.dlqs(),
        settings_text(settings), report, planner.letters(), actor.name, actor.reason, ms(now)));
    BARTLEBY_TRY(planner.insert(connection, *seq, now));
    AuditChain audit(connection);
    BARTLEBY_TRY(
        audit.append({0, now, actor.name, "plan", id, "", std::string(name(OperationState::kPlanned)), actor.reason,
                      actor.request_id, settings.edit.empty() ? "" : "{\"edit\":" + settings.edit + "}"}));
    BARTLEBY_TRY(audit.finish());
    auto operation = operation_by_number(connection, *seq);
    if (!operation) return std::unexpected(operation.error());
    made = std::move(*operation);
    return {};
  });
  if (!written) return std::unexpected(written.error());
  return std::move(*made);
}

// One, in a transaction of its own: it may have a million items, and intake and replays wait meanwhile.
Result<bool> expire_plan(Store& store, Timestamp now) {
  bool expired = false;
  const auto written = store.write([&](Connection& connection) -> Result<void> {
    expired = false;
    const auto seq = sql::one(
        connection, "SELECT seq FROM operations WHERE state IN ($1, $2) AND created_at < $3 LIMIT 1",
        [](Rows& row) { return row.integer(0); }, static_cast<int>(OperationState::kPlanned),
        static_cast<int>(OperationState::kAwaitingApproval), ms(now - kPlanLives));
    if (!seq) return std::unexpected(seq.error());
    if (!*seq) return {};
    auto operation = operation_by_number(connection, **seq);
    if (!operation) return std::unexpected(operation.error());
    const auto moved = move_operation(connection, **operation, OperationCause::kCancel, {"office", "", ""},
                                      "nobody started it within a day", now);
    if (!moved) return std::unexpected(moved.error());
    expired = *moved;
    return {};
  });
  if (!written) return std::unexpected(written.error());
  return expired;
}

}  // namespace bartleby
