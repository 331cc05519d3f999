// A scenario: a worker's configuration, messages, what the handler answers, and what must become of them. As text:
//
//   workers: {orders: {retry: {max_attempts: 3, schedule: [1s, 5s]}, handler: {pull: {}}}}
//   ---
//   at 0s send m1 to orders key=a value={"n": 1}
//   handler m1: fail timeout, done
//   until 1m
//   expect m1 done after 2 attempts
//   expect m1 waits 1s
//
// Above `---` stands what a user would write, read by the program's own reader; tests/scenario/README.md has all the
// lines below it. Plain data; whoever reads a file gets it whole, or one mistake that names file and line.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/events.h"
#include "model/failure.h"
#include "wiring/config.h"

namespace bartleby::scenario {

struct Send {
  std::string name;  // the scenario's name for the message
  Record record;
};
struct Restart {
  bool crash = false;  // no word of farewell
};
struct Order {
  ParkedOrder::What what;
};
struct Action {
  Duration at{};
  std::variant<Send, Restart, Order> what;
};

// One answer of the handler.
struct Answer {
  Fate fate = Fate::kDone;
  Kind kind = Kind::kTransient;
  std::string error;
  std::optional<Duration> after;  // it asks to wait this long
  Duration takes{0};
  bool hangs = false;             // it does not answer; the attempt ends when its time is over
  std::optional<Duration> until;  // given again and again up to this time
};
struct HandlerScript {
  std::string name;
  std::vector<Answer> answers;  // the last one repeats
};

enum class End : std::uint8_t { kDone, kSkipped, kParked, kLetter };
struct ExpectEnd {
  std::string name;
  End end;
  std::optional<Reason> reason;  // of a letter
  std::uint32_t attempts = 0;
  std::optional<Kind> kind;
  std::optional<Duration> first, last, due;
  std::optional<std::string> error;
};
struct ExpectWaits {  // between the end of an attempt and the beginning of the next, all of them
  std::string name;
  std::vector<Duration> waits;
};
struct ExpectAttempts {  // when they begin, all of them
  std::string name;
  std::vector<Duration> at;
};
struct ExpectWritten {  // the value of its letter as it lies in the dead letter topic
  std::string name;
  std::string value;  // {first} and {last}: times of its failures, {first_ms} and {last_ms} in ms; *: anything
};
struct ExpectOrder {  // of all attempts of the messages that are named
  std::vector<std::string> names;
};
struct ExpectGuard {  // all times at which it opens, or closes
  bool opens = true;
  std::vector<Duration> at;
};
struct Expectation {
  int line = 0;
  std::variant<ExpectEnd, ExpectWaits, ExpectAttempts, ExpectWritten, ExpectOrder, ExpectGuard> what;
};

struct Scenario {
  std::string file;
  std::string cluster;
  WorkerConfig worker;
  std::vector<Action> actions;  // by time
  std::vector<HandlerScript> handlers;
  std::vector<Expectation> expectations;
  Duration until{0};
};

// The mistake as `FILE:LINE: what is wrong`.
std::expected<Scenario, std::string> parse(const std::string& file, const std::string& text);

}  // namespace bartleby::scenario
