// What operations promise: their states, their items, when they must halt, and how everything ends.
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
  const bool canary = settings->canary > 0 && op.cursor == static_cast<std::int64_t>(settings->canary);
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
  for (const auto& [seq, is] : now_.operations) {
    std::int64_t items = 0;
    for (const std::int64_t n : is.results) items += n;
    if (items != is.letters) broken("results do not add up to the plan: " + is.id);
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
      if (cause == OperationCause::kResume) {
        baselines_[seq] = {known(is), is.with(ItemResult::kCameBack)};
        if (state == OperationState::kHalted) coverage_.saw(OfficeSeen::kResumed);
      }
      if (cause == OperationCause::kHalt) {
        coverage_.saw(OfficeSeen::kHalted);
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
  for (const auto& [where, is] : now_.items) {
    const auto was = before.items.find(where);
    if (was != before.items.end() && was->second.result != is.result) check_item(before, where.first, was->second, is);
  }
  std::erase_if(must_halt_, [&](std::int64_t seq) { return !must_halt(seq, now_.operations.at(seq)); });
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
      if (const auto s = settings_from_text(op.settings); replay && s && s->canary > 0 &&
                                                          op.cursor == static_cast<std::int64_t>(s->canary) &&
                                                          op.with(ItemResult::kSent) > s->waiting_before)
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
      if (!sent) return wrong("called " + std::string(name(is.result)) + " though it was not sent");
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
  std::set<std::tuple<std::string, std::string, std::uint32_t>> noted;
  for (const auto& [where, item] : now_.items)
    if (item.result == ItemResult::kSucceeded || item.result == ItemResult::kCameBack)
      noted.emplace(now_.operations.at(where.first).id, name_of(item.letter), item.replays + 1);
  for (const auto& [what, operation] : sent_)
    if (!noted.contains({operation, what.first, what.second}) && !taken_back_.contains(what))
      broken("sent and not noted: " + what.first);
}

}  // namespace bartleby::sim
