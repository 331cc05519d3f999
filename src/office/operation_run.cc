#include "office/operation_run.h"

#include <algorithm>
#include <utility>

#include "office/mutants.h"

namespace bartleby {
namespace {

std::int64_t with(const OperationSeen& seen, ItemResult result) {
  return seen.results[static_cast<std::size_t>(result)];
}

std::int64_t known(const OperationSeen& seen) {
  return with(seen, ItemResult::kSucceeded) + with(seen, ItemResult::kPassed) + with(seen, ItemResult::kCameBack);
}

}  // namespace

std::optional<std::string> reason_to_halt(const OperationSeen& seen, bool canary) {
  const std::int64_t judged = known(seen) - seen.settings.known_before;
  const std::int64_t came_back = with(seen, ItemResult::kCameBack) - seen.settings.came_back_before;
  if (canary && office_mutant(OfficeMutant::kCanaryNotJudged)) return std::nullopt;
  if (!canary && office_mutant(OfficeMutant::kHaltNotLookedAt)) return std::nullopt;
  if (judged <= 0 || came_back <= 0 || (!canary && judged < seen.settings.halt.of)) return std::nullopt;
  if (came_back * 100 <= judged * seen.settings.halt.percent) return std::nullopt;
  return std::to_string(came_back) + " of the first " + std::to_string(judged) + " came back, more than " +
         std::to_string(seen.settings.halt.percent) + " %";
}

std::optional<RunCommand> OperationRun::step(std::optional<RunEvent> event, Now now) {
  if (over_) return std::nullopt;
  const auto look = [&]() -> std::optional<RunCommand> {
    asked_ = true;
    return Look{};
  };
  if (!event) return asked_ || now.steady < due_ ? std::nullopt : look();
  asked_ = false;
  const auto* done = std::get_if<CommandDone>(&*event);
  const auto* seen = std::get_if<OperationSeen>(&*event);
  const std::optional<SendLetters> sent = std::exchange(sending_, std::nullopt);
  if ((done != nullptr && done->result == CommandDone::Result::kFailed) || (seen != nullptr && !seen->answered)) {
    retry_ = std::clamp(retry_ * 2, limits_.retry, limits_.max_retry);
    return wait(now.steady + retry_);
  }
  retry_ = Duration(0);
  if (seen != nullptr) {
    auto command = decide(*seen, now);
    asked_ = command.has_value();
    return command;
  }
  if (sent && done->result == CommandDone::Result::kRefused) refused(*sent, done->why);
  if (sent && done->result == CommandDone::Result::kDone && at_most_) *at_most_ *= 2;
  return look();
}

void OperationRun::refused(const SendLetters& sent, const std::string& why) {
  const std::int64_t letters = sent.to - sent.from;
  if (letters == 1) refused_ = why;
  if (letters > 1 && !office_mutant(OfficeMutant::kOneByOneForgotten)) at_most_ = letters / 2;
}

std::optional<RunCommand> OperationRun::wait(Instant until) {
  due_ = until;
  return std::nullopt;
}

std::optional<RunCommand> OperationRun::decide(const OperationSeen& seen, Now now) {
  if (seen.kind == OperationKind::kReplay) return decide_replay(seen, now);
  if (seen.state != OperationState::kRunning) {
    over_ = true;
    return std::nullopt;
  }
  if (seen.cursor >= seen.letters) return MoveOperation{OperationCause::kFinish, ""};
  return ChangeSlice{seen.kind, seen.cursor, std::min(seen.cursor + limits_.slice, seen.letters)};
}

std::optional<RunCommand> OperationRun::decide_replay(const OperationSeen& seen, Now now) {
  // First what is in doubt, whatever people want meanwhile: a letter that was taken is sent or given back.
  if (seen.broker_at > seen.cursor) return WriteDown{seen.cursor, seen.broker_at};
  const bool stopped = seen.state != OperationState::kRunning && !office_mutant(OfficeMutant::kSentThoughStopped);
  if (seen.taken_to > seen.cursor && stopped) return GiveBack{seen.cursor, seen.taken_to};
  if (seen.taken_to > seen.cursor) {
    if (const auto why = std::exchange(refused_, std::nullopt)) return ReturnLetter{seen.cursor, *why};
    sending_ = SendLetters{seen.cursor, std::min(seen.taken_to, seen.cursor + at_most_.value_or(limits_.batch))};
    return *sending_;
  }
  at_most_.reset();
  if (seen.state != OperationState::kRunning) {
    over_ = true;
    return std::nullopt;
  }
  const std::int64_t waiting = with(seen, ItemResult::kSent);
  const std::int64_t came_back = with(seen, ItemResult::kCameBack);
  if (seen.cursor >= seen.letters) {
    if (waiting == 0)
      return MoveOperation{
          OperationCause::kFinish,
          came_back == 0 ? "" : std::to_string(came_back) + " of " + std::to_string(known(seen)) + " came back"};
    if (seen.last_result && now.wall - *seen.last_result >= limits_.quiet)
      return MoveOperation{OperationCause::kFinish,
                           std::to_string(waiting) + " sent letters have no outcome yet; it is noted when it comes"};
    return wait(now.steady + limits_.poll);
  }
  const std::int64_t canary = std::min<std::int64_t>(seen.settings.canary, seen.letters);
  const bool at_canary = canary > 0 && seen.cursor == canary;
  if (at_canary && waiting > seen.settings.waiting_before && !office_mutant(OfficeMutant::kCanaryNotAwaited)) {
    // Nobody may answer for them: people decide then, and nobody waits for ever.
    if (seen.last_result && now.wall - *seen.last_result >= limits_.quiet)
      return MoveOperation{OperationCause::kHalt, std::to_string(waiting) + " of the first " + std::to_string(canary) +
                                                      " have no outcome; resume goes on without waiting for them"};
    return wait(now.steady + limits_.poll);
  }
  if (auto why = reason_to_halt(seen, at_canary)) return MoveOperation{OperationCause::kHalt, std::move(*why)};
  return paced(seen, seen.cursor < canary ? canary : seen.letters, now);
}

// Letters of a second go in ten batches. The time of a batch that was late is not made up for by more than one batch.
std::optional<RunCommand> OperationRun::paced(const OperationSeen& seen, std::int64_t until, Now now) {
  const std::int64_t rate = seen.settings.rate;
  if (rate == 0) return TakeLetters{seen.cursor, std::min(seen.cursor + limits_.batch, until)};
  const std::int64_t batch = std::clamp<std::int64_t>(rate / 10, 1, limits_.batch);
  const std::int64_t to = std::min(seen.cursor + batch, until);
  const std::int64_t now_us = ms(now.steady) * 1000;
  const std::int64_t one_batch = batch * 1000000 / rate;
  const std::int64_t from = paced_from_us_ ? std::max(*paced_from_us_, now_us - one_batch) : now_us;
  if (from > now_us) return wait(Instant(Duration((from + 999) / 1000)));
  paced_from_us_ = from + (to - seen.cursor) * 1000000 / rate;
  return TakeLetters{seen.cursor, to};
}

}  // namespace bartleby
