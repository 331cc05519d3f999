#include "server/letter_orders.h"

#include "office/archives.h"
#include "office/letter_changes.h"
#include "office/letters.h"
#include "office/operation_steps.h"
#include "server/operation_json.h"

namespace bartleby {
namespace {

constexpr Duration kReplayWaits{5000};

Response wrong_state(const StoredLetter& letter, LetterCause cause) {
  const std::string state(name(letter.state));
  return with_member(problem(ProblemType::kWrongState, "letter " + letter.id + " is " + state + ": " +
                                                           std::string(name(cause)) + " does not apply"),
                     "state", json::string(state));
}

std::expected<StoredLetter, Response> letter_with(const Services& services, const std::string& id) {
  std::optional<StoredLetter> letter;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto row = letter_row(connection, std::string_view(id));
    if (!row) return std::unexpected(row.error());
    if (*row) letter = std::move((*row)->letter);
    return {};
  });
  if (!read) return std::unexpected(store_problem(read.error()));
  if (!letter) return std::unexpected(unknown_letter(id));
  return std::move(*letter);
}

Response still_on_its_way(const Operation& operation) {
  Response answer = json_response(operation_json(operation, {.payload = false}), 202);
  answer.headers.emplace_back("Location", "/api/v1/operations/" + operation.id);
  return answer;
}

// What has become of an operation of one letter.
Response replayed(const Services& services, const std::string& operation, const std::string& id) {
  const auto found = services.operations->get(operation);
  if (!found) return store_problem(found.error());
  if (!*found) return unknown_letter(id);
  const auto items = services.operations->results(operation, std::nullopt, std::nullopt, 1);
  if (!items) return store_problem(items.error());
  if (items->empty()) return still_on_its_way(**found);
  const OperationItem& item = items->front();
  if (item.result == ItemResult::kSkipped)
    return problem(ProblemType::kConflict, "letter " + id + " was not sent: " + item.note);
  if (!item.to) return still_on_its_way(**found);
  const auto letter = letter_with(services, id);
  if (!letter) return letter.error();
  json::array others;
  for (const std::string& group : (*found)->report.also_read_by) others.push_back(json::string(group));
  return json_response(json::object{
      {"id", letter->id},
      {"state", name(letter->state)},
      {"operation", operation},
      {"to",
       json::object{{"topic", item.to_topic}, {"partition", item.to->partition.v}, {"offset", item.to->offset.v}}},
      {"also_read_by", std::move(others)}});
}

// A plan or a started operation of this letter, or why there is none.
std::expected<Operation, Response> started(const Services& services, const std::string& id, OperationSettings settings,
                                           const Actor& actor) {
  const auto letter = letter_with(services, id);
  if (!letter) return std::unexpected(letter.error());
  if (!next_state(letter->state, LetterCause::kReplay))
    return std::unexpected(wrong_state(*letter, LetterCause::kReplay));
  OperationRequest wanted;
  wanted.ids = {letter->id};
  wanted.settings = std::move(settings);
  wanted.settings.canary = 0;
  const auto planned = services.operations->plan(wanted, actor);
  if (!planned)
    return std::unexpected(planned.error().code == ErrorCode::kUnavailable ? store_problem(planned.error())
                                                                           : problem(planned.error()));
  // A plan that leads to nothing is not left lying about.
  const auto refuse = [&](Response answer) {
    if (const auto gone = services.operations->cancel(planned->id, actor); !gone) return store_problem(gone.error());
    return answer;
  };
  if (planned->letters == 0) {
    std::string why = "it cannot be sent";
    if (!planned->report.excluded.empty()) why = planned->report.excluded.front().why;
    return std::unexpected(refuse(problem(ProblemType::kConflict, "letter " + id + " is not replayed: " + why)));
  }
  auto changed = services.operations->start(planned->id, actor);
  if (!changed) return std::unexpected(store_problem(changed.error()));
  if (changed->result != OperationChange::kDone)
    return std::unexpected(refuse(operation_refused(*changed, planned->id, OperationCause::kStart)));
  return std::move(changed->operation);
}

struct Done {
  ChangedLetter changed;
  std::string archive;      // that it must be restored from
  bool on_its_way = false;  // of a replay that goes on
};

Result<Done> change(const Services& services, const std::string& id, LetterCause cause, const Actor& actor) {
  Done done;
  const Timestamp now = services.clock->now().wall;
  ChangeOptions options;
  if (cause == LetterCause::kDiscard) options.undo_until = now + services.operations->defaults().undo;
  const auto written = change_letters(*services.store, actor, now, [&](LetterChanges& changes) -> Result<void> {
    done = {};
    const auto row = letter_row(changes.connection(), std::string_view(id));
    if (!row) return std::unexpected(row.error());
    if (*row && (*row)->letter.state == LetterState::kArchived && cause == LetterCause::kRestore) {
      auto archive = archive_of(changes.connection(), (*row)->letter.seq);
      if (!archive) return std::unexpected(archive.error());
      done.archive = archive->value_or("its archive");
      return {};
    }
    if (*row && (*row)->letter.state == LetterState::kReplaying && cause == LetterCause::kRestore) {
      auto taken = take_back(changes, (*row)->letter, now);
      if (!taken) return std::unexpected(taken.error());
      done.on_its_way = !taken->has_value();
      if (*taken) done.changed = std::move(**taken);
      return {};
    }
    auto changed = changes.change(std::string_view(id), {}, cause, options);
    if (!changed) return std::unexpected(changed.error());
    done.changed = std::move(*changed);
    return {};
  });
  if (!written) return std::unexpected(written.error());
  return done;
}

std::optional<Response> refused(const Result<Done>& done, const std::string& id, LetterCause cause) {
  if (!done) return store_problem(done.error());
  if (!done->archive.empty())
    return problem(ProblemType::kConflict, "letter " + id + " is archived: it comes back with all of " + done->archive +
                                               " (bartleby archive restore " + done->archive + ")");
  if (done->on_its_way)
    return with_member(
        problem(ProblemType::kWrongState, "letter " + id +
                                              " is on its way: what becomes of it is awaited by its operation; end "
                                              "that first, then it can be taken back"),
        "state", json::string(name(LetterState::kReplaying)));
  switch (done->changed.result) {
    case ChangeResult::kDone:
      return std::nullopt;
    case ChangeResult::kNotFound:
      return unknown_letter(id);
    default:
      return wrong_state(done->changed.letter, cause);
  }
}

}  // namespace

Response unknown_letter(const std::string& id) {
  return problem(
      ProblemType::kNotFound,
      "no letter " + id.substr(0, 100) + "; if it was purged, /api/v1/audit?subject=" + id.substr(0, 100) + " tells");
}

void replay_letter(const Services& services, const std::string& id, OperationSettings settings, const Actor& actor,
                   Respond respond) {
  const auto operation = started(services, id, std::move(settings), actor);
  if (!operation) return respond(operation.error());
  const auto answer = std::make_shared<Respond>(std::move(respond));
  const bool waits = services.runner->watch(operation->id, kReplayWaits, [&services, op = operation->id, id, answer] {
    (*answer)(replayed(services, op, id));
  });
  if (!waits) (*answer)(still_on_its_way(*operation));
}

Response discard_letter(const Services& services, const std::string& id, const Actor& actor) {
  const auto done = change(services, id, LetterCause::kDiscard, actor);
  if (auto no = refused(done, id, LetterCause::kDiscard)) return *no;
  const StoredLetter& letter = done->changed.letter;
  return json_response(
      json::object{{"id", letter.id}, {"state", name(letter.state)}, {"undo_until", json_time(letter.undo_until)}});
}

Response restore_letter(const Services& services, const std::string& id, const Actor& actor) {
  const auto done = change(services, id, LetterCause::kRestore, actor);
  if (auto no = refused(done, id, LetterCause::kRestore)) return *no;
  return json_response(json::object{{"id", done->changed.letter.id}, {"state", name(done->changed.letter.state)}});
}

}  // namespace bartleby
