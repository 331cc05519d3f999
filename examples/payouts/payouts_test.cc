// The handler tested as its author would: without a server, one attempt at a time.
#include "payouts.h"

#include <bartleby/testing.h>

#include <cstdio>

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  std::printf("%s %s\n", holds ? "ok" : "FAIL", what);
  if (!holds) ++failures;
}

bartleby::Record order(const char* text) { return {.topic = "payouts", .partition = {}, .key = "k", .value = text}; }

}  // namespace

int main() {
  using namespace bartleby;
  Program program;
  handle_payouts(program);
  HandWoundClock clock;
  const RunOnce how{.clock = &clock};

  const Verdict small = run_once(program, "payouts", order("alice 50"), how);
  expect(small.fate == Fate::kDone && small.emitted.size() == 1, "a small order is paid at once");
  expect(small.emitted.size() == 1 && small.emitted[0].value == "paid 50 to alice", "with a receipt");

  clock.advance(Duration(1000));  // another message
  const Verdict busy = run_once(program, "payouts", order("bob 250"), how);
  expect(busy.fate == Fate::kRetry && busy.type == "BankBusy" && busy.after == Duration(1000), "a large one waits");
  const Verdict again = run_once(program, "payouts", order("bob 250"), {.attempt = 2, .clock = &clock});
  expect(again.fate == Fate::kDone, "and is paid the second time");
  run_once(program, "payouts", order("bob 250"), {.attempt = 3, .clock = &clock});
  expect(bank::paid_to("bob") == 250, "once, however often it is tried");

  clock.advance(Duration(1000));
  expect(run_once(program, "payouts", order("carol 5000"), how).fate == Fate::kReject, "too large an order is refused");
  const Verdict bad = run_once(program, "payouts", order("what?"), how);
  expect(bad.fate == Fate::kReject && bad.type == "BadOrder", "and so is what is no order");
  expect(run_once(program, "nobody", order("x 1"), how).type == "NoHandler", "a name without a handler says so");
  return failures == 0 ? 0 : 1;
}
