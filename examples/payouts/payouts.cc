// A worker that pays out money, in twenty lines: it pays once, tries again while the bank is busy, and gives up at once
// on what can never be paid.
#include "payouts.h"

using namespace bartleby;

void handle_payouts(Program& program) {
  program.handle("payouts", [](const Message& m, Attempt& a) -> Outcome {
    const auto order = Order::parse(m.value());
    if (!order) return reject("BadOrder", order.error());
    switch (bank::pay(*order, a.idempotency_key())) {
      case bank::kPaid:
        return done().emit({.topic = "receipts", .partition = {}, .key = m.key(), .value = order->receipt()});
      case bank::kBusy:
        return retry("BankBusy", "no answer").after(std::chrono::seconds(1));
      default:
        return reject("Refused", "the bank said no");
    }
  });
}
