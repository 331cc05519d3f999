// People: they plan, start, pause, resume and cancel operations, change single letters and issues, at any moment.
#include <algorithm>

#include "office/issues.h"
#include "office/letter_changes.h"
#include "office/letter_row.h"
#include "office/operation_steps.h"
#include "office/sql.h"
#include "tests/sim/office_world.h"

namespace bartleby::sim {
namespace {

const Actor kAnn{"ann", "mended", "r1"};

}  // namespace

void OfficeWorld::people() {
  for (std::uint64_t i = random().below(4); i > 0; --i) {
    alive([&] {
      const std::uint64_t what = random().below(100);
      if (what < 30) return plan();
      if (what < 80) return change_operation(false);
      if (what < 90) return change_one_letter();
      if (what < 94) return restore_an_archive();
      change_an_issue();
    });
  }
}

OperationSettings OfficeWorld::settings() {
  OperationSettings s;
  constexpr std::array<std::uint32_t, 4> kRates = {0, 0, 1, 20};
  s.rate = kRates[random().below(kRates.size())];
  s.canary = static_cast<std::uint32_t>(random().below(4));
  s.halt = {static_cast<std::uint32_t>(random().between(0, 70)), static_cast<std::uint32_t>(random().between(1, 5))};
  return s;
}

std::string OfficeWorld::some_query() {
  switch (random().below(6)) {
    case 0:
      return "group:" + any(groups_).name;
    case 1: {
      const std::string key = "-k" + std::to_string(random().below(4));  // first: compilers draw in different orders
      return "key:" + any(groups_).topic + key;
    }
    case 2:
      return "dlq:" + any(groups_).dlq;
    case 3:
      return "error:Error" + std::to_string(random().below(3));
    case 4:
      return "replays:>0";
    default:
      return "";
  }
}

void OfficeWorld::plan() {
  OperationRequest request;
  constexpr std::array kKinds = {OperationKind::kReplay,  OperationKind::kReplay,  OperationKind::kReplay,
                                 OperationKind::kReplay,  OperationKind::kDiscard, OperationKind::kRestore,
                                 OperationKind::kDiscard, OperationKind::kPurge};
  request.kind = kKinds[random().below(kKinds.size())];
  request.settings = settings();
  const auto& letters = checker_->picture().letters;
  if (!letters.empty() && random().chance(20)) {
    for (const auto& [seq, letter] : letters)
      if (random().chance(40)) request.ids.push_back(letter.id);
  }
  if (request.ids.empty()) {
    std::string query = some_query();
    if (request.kind == OperationKind::kPurge) query += random().chance(50) ? " state:discarded" : " state:resolved";
    const auto parsed = parse_query(query);
    BARTLEBY_ASSERT(parsed.has_value());
    request.query = *parsed;
  }
  const auto planned = office_->operations.plan(request, kAnn);
  note("plan " + std::string(name(request.kind)) + (planned ? ": " + planned->id : " was not answered"));
  if (!planned) return;
  for (const Excluded& excluded : planned->report.excluded)
    if (excluded.why == "max replays") coverage_.saw(OfficeSeen::kMaxReplays);
  if (!random().chance(70)) return;
  const auto started = office_->operations.start(planned->id, kAnn);
  if (started && started->result == OperationChange::kConflict) coverage_.saw(OfficeSeen::kConflict);
  note("start " + planned->id + (started && started->result == OperationChange::kDone ? "" : " was refused"));
}

void OfficeWorld::change_operation(bool healing) {
  std::vector<std::pair<std::string, OperationState>> open;
  for (const auto& [seq, op] : checker_->picture().operations)
    if (op.state < OperationState::kDone) open.emplace_back(op.id, op.state);
  if (open.empty()) return;
  Operations& operations = office_->operations;
  const auto one = [&](const std::string& id, OperationState state) {
    const std::uint64_t what = random().below(100);
    Result<ChangedOperation> changed = ChangedOperation{};
    if (state == OperationState::kPlanned)
      changed = what < (healing ? 50U : 80U) ? operations.start(id, kAnn) : operations.cancel(id, kAnn);
    else if (state != OperationState::kRunning)
      changed = healing || what < 70 ? operations.resume(id, kAnn) : operations.cancel(id, kAnn);
    else if (healing && !hurried_.insert(id).second)
      return;
    else if (healing || what < 40)
      changed = operations.set_rate(id, healing ? 0 : static_cast<std::uint32_t>(random().below(30)), kAnn);
    else
      changed = what < 80 ? operations.pause(id, kAnn) : operations.cancel(id, kAnn);
    if (state == OperationState::kRunning && what < 40) coverage_.saw(OfficeSeen::kRate);
    if (changed && changed->result == OperationChange::kConflict) coverage_.saw(OfficeSeen::kConflict);
    note(id + ": was " + std::string(name(state)) + ", is " +
         (changed ? std::string(name(changed->operation.state)) : "not answered"));
  };
  if (!healing) {
    const auto chosen = any(open);
    return one(chosen.first, chosen.second);
  }
  for (const auto& [id, state] : open) one(id, state);
}

void OfficeWorld::change_one_letter() {
  const auto& letters = checker_->picture().letters;
  if (letters.empty()) return;
  auto which = std::next(letters.begin(), static_cast<long>(random().below(letters.size())));
  constexpr std::array kCauses = {LetterCause::kDiscard, LetterCause::kRestore, LetterCause::kPurge};
  LetterCause cause = kCauses[random().below(kCauses.size())];
  // Somebody looks for those that do not come back.
  const auto waits = std::ranges::find(letters, LetterState::kReplaying, [](const auto& l) { return l.second.state; });
  if (waits != letters.end() && random().chance(40)) which = waits, cause = LetterCause::kRestore;
  const auto away = std::ranges::find(letters, LetterState::kArchived, [](const auto& l) { return l.second.state; });
  if (away != letters.end() && random().chance(50)) which = away, cause = LetterCause::kPurge;  // one of many, perhaps
  const std::string id = which->second.id;
  const auto done = change_letters(*store_, kAnn, scheduler_.wall(), [&](LetterChanges& changes) -> Result<void> {
    const auto row = letter_row(changes.connection(), std::string_view(id));
    if (!row) return std::unexpected(row.error());
    if (*row && (*row)->letter.state == LetterState::kReplaying && cause == LetterCause::kRestore) {
      const auto taken = take_back(changes, (*row)->letter, scheduler_.wall());
      if (!taken) return std::unexpected(taken.error());
      return {};
    }
    const auto changed = changes.change(id, {}, cause, {});
    if (!changed) return std::unexpected(changed.error());
    return {};
  });
  note(std::string(name(cause)) + " " + id + (done ? "" : " was not answered"));
}

void OfficeWorld::change_an_issue() {
  std::vector<std::string> ids;
  const auto read = real_->read([&](Connection& connection) {
    return sql::each(connection, "SELECT id FROM issues ORDER BY seq", [&](Rows& r) { ids.push_back(r.text(0)); });
  });
  if (!read || ids.empty()) return;
  constexpr std::array kCauses = {IssueCause::kResolve, IssueCause::kResolve, IssueCause::kMute, IssueCause::kReopen};
  const IssueCause cause = kCauses[random().below(kCauses.size())];
  const auto until = cause == IssueCause::kMute ? std::optional(scheduler_.wall() + Duration(60000)) : std::nullopt;
  const auto changed = change_issue(*store_, any(ids), cause, kAnn, scheduler_.wall(), {}, until);
  note("an issue: " + std::string(changed ? "changed" : "was not answered"));
}

}  // namespace bartleby::sim
