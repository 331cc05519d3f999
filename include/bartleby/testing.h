// Tests of handlers without a server: one message, one attempt, and what came of it.
//
//   Program program;  program.handle("orders", …);
//   HandWoundClock clock;
//   Verdict v = run_once(program, "orders", {.topic = "orders", .key = "k", .value = "{}"}, {.clock = &clock});
//   EXPECT_EQ(v.fate, Fate::kRetry);
#pragma once

#include <bartleby/program.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bartleby {

// Stands still until it is told to go on.
class HandWoundClock {
 public:
  explicit HandWoundClock(Timestamp start = timestamp_ms(1'735'689'600'000)) : now_(start) {}
  Timestamp now() const { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  Timestamp now_;
};

struct Verdict {
  Fate fate = Fate::kDone;
  std::string type, message, stack;
  std::optional<Duration> after;
  std::vector<Record> emitted;
};

struct RunOnce {
  int attempt = 1;
  int max_attempts = 6;
  Duration timeout{30000};
  const HandWoundClock* clock = nullptr;  // the message's time; absent: the machine's
};

// Runs the program's handler of that name on the record, in this thread (asynchronous handlers: until their reply). A
// name the program does not have is a reject of type NoHandler.
Verdict run_once(const Program& program, std::string_view worker, Record record, const RunOnce& how = {});

}  // namespace bartleby
