// What the payouts need: an order as it stands in a message, and a bank to play with.
//
// An order reads "alice 250": to whom, how much. The bank refuses more than 1000, is busy the first time it hears of
// more than 100, and pays each idempotency key once, however often it is asked; all of it in memory, on any thread.
#pragma once

#include <bartleby/bartleby.h>

#include <expected>
#include <string>
#include <string_view>

struct Order {
  std::string to;
  int amount = 0;

  static std::expected<Order, std::string> parse(std::string_view text);
  std::string receipt() const { return "paid " + std::to_string(amount) + " to " + to; }
};

namespace bank {

enum Answer { kPaid, kBusy, kRefused };

Answer pay(const Order& order, std::string_view idempotency_key);
int paid_to(const std::string& whom);

}  // namespace bank

void handle_payouts(bartleby::Program& program);
