// What operations promise: their states, their items, when they must halt, and how everything ends.
#include <algorithm>
#include <map>
#include <sstream>

#include "codec/operation_text.h"
#include "tests/sim/office_checker.h"

namespace bartleby::sim {
namespace {

std::optional<OperationCause> cause_named(std::string_view text) {
  for (std::size_t i = 0; i < kOperationCauseNames.size(); ++i)
    if (kOperationCauseNames[i] == text) return static_cast<OperationCause>(i);
  return std::nullopt;
}

std::int64_t known(const OfficeChecker::Op& op) {
  return op.with(ItemResult::kSucceeded) + op.with(ItemResult::kCameBack);
}

bool at_canary(const OfficeChecker::Op& op) {
  const auto settings = settings_from_text(op.settings);
  return settings && settings->canary > 0 && op.cursor == static_cast<std::int64_t>(settings->canary);
}

}  // namespace

// Outcomes may come between a look and what follows from it; what has been so since before the turn was looked at.
bool OfficeChecker::must_halt(std::int64_t seq, const Op& op) const {
  if (op.kind != OperationKind::kReplay || op.state != OperationState::kRunning || op.cursor >= op.letters)
    return false;
  const auto settings = settings_from_text(op.settings);
  if (!settings) return false;
  const auto base = baselines_.find(seq);
  const Baseline at = base == baselines_.end() ? Baseline{0, 0} : base->second;
  const std::int64_t judged = known(op) - at.first;
  const std::int64_t came_back = op.with(ItemResult::kCameBack) - at.second;
  const bool canary = at_canary(op);
  if (judged <= 0 || came_back <= 0) return false;
  if (!canary && judged < static_cast<std::int64_t>(settings->halt.of)) return false;
  return came_back * 100 > judged * static_cast<std::int64_t>(settings->halt.percent);
}

void OfficeChecker::begin_turn() {
  must_halt_.clear();
  for (const auto& [seq, op] : now_.operations)
    if (op.with(ItemResult::kUnknown) == 0 && must_halt(seq, op)) must_halt_.insert(seq);
}

void OfficeChecker::check_operations(const Picture& before, const std::vector<AuditEntry>& lines) {
  std::map<std::string, std::string> sends;  // dlq: a replay of it that has letters to send, of which there is one
  for (const auto& [seq, is] : now_.operations) {
    std::istringstream dlqs(is.dlqs);
    if (is.kind == OperationKind::kReplay && is.state == OperationState::kRunning && is.letters > 1 &&
        is.cursor < is.letters)
      for (std::string dlq; dlqs >> dlq;)
        if (const auto [other, first] = sends.try_emplace(dlq, is.id); !first)
          broken("two replays of one dlq send: " + other->second + " and " + is.id);
    std::int64_t items = 0;
    for (const std::int64_t n : is.results) items += n;
    if (items != is.letters && !may_lose_items(is)) broken("results do not add up to the plan: " + is.id);
    const auto found = before.operations.find(seq);
    if (found == before.operations.end()) {
      if (is.state != OperationState::kPlanned) broken("an operation that was not planned first: " + is.id);
      continue;
    }
    const Op& was = found->second;
    if (is.cursor < was.cursor) broken("the cursor fell: " + is.id);
    OperationState state = was.state;
    for (const AuditEntry& line : lines) {
      if (line.subject != is.id) continue;
      const auto cause = cause_named(line.action);
      if (!cause) continue;  // a rate
      const auto to = next_state(state, *cause);
      if (!to || name(state) != line.from || name(*to) != line.to)
        broken("against the law: " + is.id + " " + line.action + " from " + line.from);
      const bool by_itself = cause == OperationCause::kHalt || cause == OperationCause::kFinish;
      if (by_itself != (line.actor == "office") && cause != OperationCause::kCancel)
        broken("went on by itself: " + is.id + " " + line.action);
      // Only a halt shows people what came back, and that nobody answers: a pause excuses nothing.
      if (cause == OperationCause::kResume && state == OperationState::kHalted) {
        baselines_[seq] = {known(is), is.with(ItemResult::kCameBack)};
        if (unanswered_.contains(seq)) excused_[seq] = is.with(ItemResult::kSent);
        coverage_.saw(OfficeSeen::kResumed);
      }
      if (cause == OperationCause::kResume && state == OperationState::kPaused && at_canary(is) &&
          is.with(ItemResult::kSent) > 0)
        coverage_.saw(OfficeSeen::kPausedAtCanary);
      if (cause == OperationCause::kHalt) {
        coverage_.saw(OfficeSeen::kHalted);
        if (at_canary(is) && is.with(ItemResult::kSent) > 0) unanswered_.insert(seq);
        if (const auto s = settings_from_text(is.settings); s && was.cursor > static_cast<std::int64_t>(s->canary))
          coverage_.saw(OfficeSeen::kHaltedLater);
      }
      if (cause == OperationCause::kFinish && is.with(ItemResult::kSent) > 0) coverage_.saw(OfficeSeen::kQuiet);
      if (cause == OperationCause::kCancel && line.actor == "office") coverage_.saw(OfficeSeen::kExpired);
      if (to) state = *to;
    }
    if (is.state != state) broken("an operation changed without a line in the audit: " + is.id);
    if (is.state == OperationState::kDone && is.with(ItemResult::kPending) + is.with(ItemResult::kUnknown) > 0)
      broken("done, and not all of it is: " + is.id);
    if (is.state == OperationState::kCancelled && is.with(ItemResult::kPending) > 0)
      broken("cancelled, with letters that wait: " + is.id);
  }
  check_forgotten(before, lines);
  for (const auto& [where, is] : now_.items) {
    const auto was = before.items.find(where);
    if (was != before.items.end() && was->second.result != is.result) check_item(before, where.first, was->second, is);
  }
  std::erase_if(must_halt_, [&](std::int64_t seq) {
    const auto op = now_.operations.find(seq);
    return op == now_.operations.end() || !must_halt(seq, op->second);
  });
}

void OfficeChecker::forgets(Timestamp before) {
  forget_before_ = before;
  for (const auto& [seq, op] : now_.operations)
    if (op.ended_at && *op.ended_at < before && !may_be_forgotten(op)) coverage_.saw(OfficeSeen::kNotForgotten);
}

bool OfficeChecker::may_be_forgotten(const Op& op) const {
  return (op.state == OperationState::kDone || op.state == OperationState::kCancelled) && op.ended_at &&
         *op.ended_at < forget_before_ && op.with(ItemResult::kSent) + op.with(ItemResult::kUnknown) == 0;
}

// What nobody started was never more than a plan.
bool OfficeChecker::may_lose_items(const Op& op) const {
  return may_be_forgotten(op) || (op.state == OperationState::kCancelled && !op.started);
}

// Items go before their operation does; what they said of letters that were sent is kept here.
void OfficeChecker::check_forgotten(const Picture& before, const std::vector<AuditEntry>& lines) {
  for (const auto& [where, item] : before.items) {
    if (now_.items.contains(where)) continue;
    const Op& op = before.operations.at(where.first);
    if (!may_lose_items(op)) broken("an item is gone, and its operation may not be forgotten: " + op.id);
    if (!may_be_forgotten(op)) coverage_.saw(OfficeSeen::kEmptied);
    if (item.result == ItemResult::kSucceeded || item.result == ItemResult::kCameBack)
      noted_.emplace(op.id, name_of(item.letter), item.replays + 1);
    coverage_.saw(now_.operations.contains(where.first) ? OfficeSeen::kForgottenInPart : OfficeSeen::kForgotten);
  }
  for (const auto& [seq, op] : before.operations) {
    if (now_.operations.contains(seq)) continue;
    coverage_.saw(OfficeSeen::kForgotten);
    if (!may_be_forgotten(op))
      broken("forgotten though it may not be: " + op.id + " is " + std::string(name(op.state)));
    const bool told = std::ranges::any_of(
        lines, [&](const AuditEntry& line) { return line.subject == op.id && line.action == "forget"; });
    if (!told) broken("forgotten without a line in the audit: " + op.id);
  }
}

void OfficeChecker::check_item(const Picture& before, std::int64_t operation, const Item& was, const Item& is) {
  const Op& op = before.operations.at(operation);
  const std::string id = name_of(is.letter);
  const auto wrong = [&](const std::string& what) { broken(what + ": " + id + " of " + op.id); };
  const bool sent = sent_.contains({id, is.replays + 1}) && sent_.at({id, is.replays + 1}) == op.id;
  const bool replay = op.kind == OperationKind::kReplay;
  const auto verdicts = verdicts_.find({id, is.replays + 1});
  const auto answered = [&](Verdict v) { return verdicts != verdicts_.end() && verdicts->second.contains(v); };
  switch (was.result) {
    case ItemResult::kPending: {
      if (is.result == ItemResult::kSkipped) {
        if (is.note.find("changed since") != std::string::npos) coverage_.saw(OfficeSeen::kChangedSince);
        return;
      }
      if (is.result != (replay ? ItemResult::kUnknown : ItemResult::kSucceeded))
        return wrong("an item that waited is " + std::string(name(is.result)));
      if (op.state != OperationState::kRunning) wrong("taken though its operation is " + std::string(name(op.state)));
      const auto letter = before.letters.find(is.letter);
      if (letter == before.letters.end() || letter->second.version != was.version ||
          letter->second.replays != was.replays)
        wrong("changed though it is not what the plan saw");
      if (must_halt_.contains(operation)) wrong("went on though it had to halt");
      const auto excused = excused_.find(operation);
      if (replay && at_canary(op) && op.with(ItemResult::kSent) > (excused == excused_.end() ? 0 : excused->second))
        wrong("went on before its canary was known");
      return;
    }
    case ItemResult::kUnknown:
      if (is.result == ItemResult::kPending || is.result == ItemResult::kSkipped) {
        if (sent) wrong("given back though it was sent");
        coverage_.saw(is.result == ItemResult::kPending        ? OfficeSeen::kGivenBack
                      : op.state == OperationState::kCancelled ? OfficeSeen::kGivenUp
                                                               : OfficeSeen::kRefused);
        return;
      }
      // What became of a life that was sent before its letter was purged and came again is so of that life now.
      if (!sent && (is.result == ItemResult::kSent || !sent_before_.contains({id, is.replays + 1})))
        return wrong("called " + std::string(name(is.result)) + " though it was not sent");
      if (is.result == ItemResult::kSent) return;
      coverage_.saw(OfficeSeen::kEarlyOutcome);
      break;
    case ItemResult::kSent:
      if (is.result == ItemResult::kSkipped) {
        if (op.state != OperationState::kDone && op.state != OperationState::kCancelled)
          wrong("taken back though its operation goes on");
        if (!taken_back_.contains({id, is.replays + 1})) wrong("left out though it was sent");
        return;
      }
      break;
    default:
      return wrong("an item that was " + std::string(name(was.result)) + " is " + std::string(name(is.result)));
  }
  if (is.result == ItemResult::kSucceeded ? !answered(Verdict::kApplied) && !answered(Verdict::kSkipped)
                                          : is.result != ItemResult::kCameBack || !answered(Verdict::kDead))
    wrong("called " + std::string(name(is.result)) + " and its worker did not say so");
}

void OfficeChecker::ended() {
  crashed();
  for (const auto& [tp, records] : dead_) {
    const Offset end = cluster_.log(tp).high_watermark();
    const auto at = now_.positions.find(tp);
    const IntakePosition done = at == now_.positions.end() ? IntakePosition{} : at->second.at;
    if (done.next != end || done.done_to != end)
      broken("never taken in: " + tp.topic + "/" + std::to_string(tp.partition.v) + " from " +
             std::to_string(done.next.v));
    // Whatever the positions were meanwhile, and of which log.
    for (auto one = records.lower_bound(cluster_.log(tp).start()); one != records.end(); ++one)
      if (!arrived_.contains(one->second.raw) && !arrived_.contains(one->second.letter))
        broken("passed and never taken in: " + tp.topic + "/" + std::to_string(tp.partition.v) + ":" +
               std::to_string(one->first.v));
  }
  for (const auto& [seq, op] : now_.operations) {
    if (op.state != OperationState::kDone && op.state != OperationState::kCancelled)
      broken("never ended: " + op.id + " is " + std::string(name(op.state)) + " at " + std::to_string(op.cursor) +
             " of " + std::to_string(op.letters));
    if (op.with(ItemResult::kUnknown) > 0) broken("never known whether it was sent: of " + op.id);
    if (op.with(ItemResult::kSent) > 0) broken("sent, and its outcome was never taken in: of " + op.id);
  }
  // A letter that died again stays as it is where retention took what its worker wrote; nothing else may.
  for (const auto& [seq, letter] : now_.letters) {
    const auto verdicts = verdicts_.find({letter.id, letter.replays + 1});
    if (letter.state == LetterState::kReplaying &&
        (verdicts == verdicts_.end() || !verdicts->second.contains(Verdict::kDead)))
      broken("stays taken for ever: " + letter.id);
  }
  for (const auto& [where, item] : now_.items)
    if (item.result == ItemResult::kSucceeded || item.result == ItemResult::kCameBack)
      noted_.emplace(now_.operations.at(where.first).id, name_of(item.letter), item.replays + 1);
  for (const auto& [what, operation] : sent_)
    if (!noted_.contains({operation, what.first, what.second}) && !taken_back_.contains(what))
      broken("sent and not noted: " + what.first);
  check_files_at_the_end();
  check_sink_at_the_end();
}

}  // namespace bartleby::sim
