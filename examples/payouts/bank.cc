#include <charconv>
#include <map>
#include <mutex>
#include <set>

#include "payouts.h"

std::expected<Order, std::string> Order::parse(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos || space == 0) return std::unexpected("not like \"alice 250\"");
  Order order{std::string(text.substr(0, space)), 0};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + space + 1, end, order.amount);
  if (error != std::errc{} || at != end || order.amount <= 0)
    return std::unexpected("the amount is not a number above 0");
  return order;
}

namespace bank {
namespace {

std::mutex mutex;
std::set<std::string, std::less<>> asked, paid;
std::map<std::string, int> accounts;

}  // namespace

Answer pay(const Order& order, std::string_view idempotency_key) {
  const std::lock_guard lock(mutex);
  if (order.amount > 1000) return kRefused;
  if (order.amount > 100 && asked.emplace(idempotency_key).second) return kBusy;
  if (paid.emplace(idempotency_key).second) accounts[order.to] += order.amount;
  return kPaid;
}

int paid_to(const std::string& whom) {
  const std::lock_guard lock(mutex);
  const auto account = accounts.find(whom);
  return account == accounts.end() ? 0 : account->second;
}

}  // namespace bank
