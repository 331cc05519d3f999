#include "server/self_checks.h"

#include <array>
#include <set>

#include "codec/heartbeat.h"
#include "office/dlq_view.h"
#include "office/operation_row.h"
#include "server/problem.h"

namespace bartleby {
namespace {

constexpr std::int64_t kMuch = 1000;        // records of dlqs that wait to be taken in
constexpr std::uint64_t kKeepsFailing = 3;  // once or twice is what happens when somebody else was first

std::string counted(std::int64_t n, const std::string& what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

SelfCheck broker(const Services& services) {
  const auto writes = services.broker->writable();
  if (writes) return {"broker", CheckResult::kOk, "takes records and answers"};
  return {"broker", CheckResult::kFail, writes.error().message};
}

std::vector<SelfCheck> workers(const Services& services) {
  std::vector<SelfCheck> found;
  const auto beats = services.counters->heartbeats();
  found.push_back(beats ? SelfCheck{"counters", CheckResult::kOk, "heartbeats and counters are kept"}
                        : SelfCheck{"counters", CheckResult::kWarn, beats.error().message});
  std::set<std::string, std::less<>> alive;
  if (beats)
    for (const Heartbeat& beat : *beats)
      if (const auto facts = heartbeat_from_text(beat.text); facts && facts->status != LifeStatus::kShuttingDown)
        alive.insert(beat.type);
  std::string silent, guarded;
  std::set<std::string> refusing;
  std::int64_t expected = 0, waiting = 0;
  for (const auto& worker : services.workers()) {
    const std::string& name = worker->spec().name;
    ++expected;
    const auto s = worker->status();
    const bool runs = s && (s->state == WorkerState::kRunning || s->state == WorkerState::kPaused);
    if (!runs || (beats && !alive.contains(name))) silent += (silent.empty() ? "" : ", ") + name;
    if (!s) continue;
    if (s->guard_open) guarded += (guarded.empty() ? "" : ", ") + name;
    waiting += static_cast<std::int64_t>(s->dlq_pending);
    refusing.insert(s->refusing_dlqs.begin(), s->refusing_dlqs.end());
  }
  found.push_back(silent.empty() ? SelfCheck{"workers", CheckResult::kOk, counted(expected, "worker") + ", all report"}
                                 : SelfCheck{"workers", CheckResult::kWarn, "not running or silent: " + silent});
  found.push_back(guarded.empty()
                      ? SelfCheck{"outage guards", CheckResult::kOk, "closed"}
                      : SelfCheck{"outage guards", CheckResult::kWarn, "open, work has stopped at: " + guarded});
  SelfCheck writes{"dlq writes", CheckResult::kOk, "no letter waits to be written"};
  if (waiting > 0)
    writes = {writes.name, CheckResult::kWarn, counted(waiting, "letter") + " wait to be written to their dlqs"};
  if (!refusing.empty())
    writes = {writes.name, CheckResult::kFail,
              *refusing.begin() + " does not take letters; lines with dlq_publish_failed tell why"};
  found.push_back(std::move(writes));
  return found;
}

std::vector<SelfCheck> office(const Services& services) {
  const auto dlqs = dlq_views(*services.store, *services.broker, services.clock->now().wall);
  if (!dlqs) return {{"store", CheckResult::kFail, told(dlqs.error())}};
  const StoreLook look = services.store_check->ask();
  std::vector<SelfCheck> found = {look.failure ? SelfCheck{"store", CheckResult::kFail, look.failure->message}
                                               : SelfCheck{"store", CheckResult::kOk, "takes writes and answers"}};
  std::int64_t behind = 0, missed = 0, expiring = 0;
  for (const DlqView& dlq : *dlqs) behind += dlq.lag, missed += dlq.missed, expiring += dlq.expiring;
  SelfCheck intake{"intake", CheckResult::kOk, "every record of every dlq is taken in"};
  if (behind > 0)
    intake = {"intake", behind > kMuch ? CheckResult::kWarn : CheckResult::kOk,
              counted(behind, "record") + " of dlqs not taken in yet"};
  if (expiring > 0)
    intake = {"intake", CheckResult::kFail,
              counted(expiring, "record") + " not taken in will be deleted by their topics within a day"};
  if (missed > 0 && expiring == 0)
    intake = {"intake", CheckResult::kWarn, counted(missed, "record") + " were deleted before they were taken in"};
  // Nothing of it is lost, but nothing arrives either, and it does not go away by itself.
  const std::optional<IntakeTrouble> trouble = services.intake().trouble;
  if (trouble && trouble->times >= kKeepsFailing)
    intake = {"intake", CheckResult::kFail,
              trouble->doing + (trouble->dlq.empty() ? "" : " " + trouble->dlq) + " has failed " +
                  counted(static_cast<std::int64_t>(trouble->times), "time") +
                  " in a row: " + told(Error{ErrorCode::kUnavailable, trouble->error})};
  found.push_back(std::move(intake));

  std::vector<Operation> halted;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto page = operation_page(connection, {OperationState::kHalted}, std::nullopt, 10);
    if (!page) return std::unexpected(page.error());
    halted = std::move(*page);
    return {};
  });
  if (!read) found.push_back({"operations", CheckResult::kFail, told(read.error())});
  if (read && halted.empty()) found.push_back({"operations", CheckResult::kOk, "none has halted"});
  if (read && !halted.empty())
    found.push_back({"operations", CheckResult::kHalted, halted.front().id + " has halted: " + halted.front().note});
  const std::uint64_t drift = services.news->drift();
  found.push_back(drift == 0 ? SelfCheck{"counts", CheckResult::kOk, "counts and letters agree"}
                             : SelfCheck{"counts", CheckResult::kWarn,
                                         counted(static_cast<std::int64_t>(drift), "count") +
                                             " differed from the letters since the start, and were put right"});
  return found;
}

std::vector<SelfCheck> sinks(const Services& services) {
  std::vector<SelfCheck> found;
  for (const SinkStatus& sink : services.sinks()) {
    const std::int64_t waiting = sink.backlog.waiting;
    const std::int64_t refused = sink.backlog.refused;
    SelfCheck check{"sink " + sink.name, CheckResult::kOk, "has every letter"};
    if (waiting > 0) check.detail = counted(waiting, "letter") + " on the way to it";
    if (refused > 0)
      check = {check.name, CheckResult::kWarn,
               counted(refused, "letter") + " that it does not take: " + sink.backlog.last_reason.value_or("")};
    if (sink.failing_since)
      check = {check.name, CheckResult::kWarn, counted(waiting, "letter") + " wait for it: " + sink.error};
    found.push_back(std::move(check));
  }
  return found;
}

}  // namespace

std::string_view name(CheckResult result) {
  constexpr std::array<std::string_view, 4> kNames = {"ok", "warn", "halted", "fail"};
  return kNames[static_cast<std::size_t>(result)];
}

std::vector<SelfCheck> self_checks(const Services& services) {
  std::vector<SelfCheck> all = {broker(services)};
  for (SelfCheck& one : workers(services)) all.push_back(std::move(one));
  if (services.store != nullptr)
    for (SelfCheck& one : office(services)) all.push_back(std::move(one));
  for (SelfCheck& one : sinks(services)) all.push_back(std::move(one));
  return all;
}

}  // namespace bartleby
