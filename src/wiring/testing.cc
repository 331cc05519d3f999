#include <bartleby/testing.h>

#include <future>

#include "base/clock.h"
#include "codec/letter.h"
#include "runtime/in_process.h"
#include "wiring/handlers.h"

namespace bartleby {
namespace {

Verdict verdict_of(Decision d) {
  return {d.fate, d.error.type, d.error.message, d.error.stack, d.after, std::move(d.emit)};
}

}  // namespace

Verdict run_once(const Program& program, std::string_view worker, Record record, const RunOnce& how) {
  const Handlers& handlers = program.handlers();
  std::unique_ptr<Handler> handler;
  if (const auto sync = handlers.sync.find(worker); sync != handlers.sync.end())
    handler = std::make_unique<InlineHandler>(InProcess{}, sync->second);
  else if (const auto async = handlers.async.find(worker); async != handlers.async.end())
    handler = std::make_unique<AsynchronousHandler>(InProcess{}, async->second);
  else
    return {Fate::kReject, "NoHandler", "the program has no handler " + std::string(worker), {}, {}, {}};
  const Now now = system_now();
  LetterFacts origin;
  origin.cluster = "test";
  origin.topic = record.topic.empty() ? std::string(worker) : record.topic;
  origin.partition = record.partition.value_or(Partition(0));
  origin.timestamp = how.clock != nullptr ? how.clock->now() : now.wall;
  auto attempt = std::make_shared<AttemptIn>();
  attempt->names = std::make_shared<const AttemptIn::Names>(origin.cluster, std::string(worker), std::string(worker));
  attempt->tp = {origin.topic, origin.partition};
  attempt->record = std::make_shared<const LogRecord>(LogRecord{Offset(0), origin.timestamp, std::move(record.key),
                                                                std::move(record.value), std::move(record.headers)});
  attempt->id = message_id(origin);
  attempt->number = static_cast<std::uint32_t>(how.attempt);
  attempt->max = static_cast<std::uint32_t>(how.max_attempts);
  attempt->deadline = now.steady + how.timeout;
  attempt->deadline_wall = now.wall + how.timeout;
  // Shared: the thread that replies may still be inside set_value when the answer is here.
  auto answer = std::make_shared<std::promise<Decision>>();
  handler->start(std::move(attempt), [answer](Decision d) { answer->set_value(std::move(d)); });
  return verdict_of(answer->get_future().get());
}

}  // namespace bartleby
