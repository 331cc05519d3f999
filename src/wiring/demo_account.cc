#include "wiring/demo_account.h"

#include <set>
#include <utility>

namespace bartleby {
namespace {

struct Seen {
  bool failed = false;   // before it was handled
  bool handled = false;  // in its first life
  bool handled_again = false;
};

}  // namespace

bool DemoAccount::adds_up() const {
  return sent == wanted && at_once + after_retries + dead == sent && lost == 0 && replayed == dead &&
         succeeded + came_back == replayed && in_order == keys;
}

std::string DemoAccount::text() const {
  const auto n = [](std::int64_t number) { return std::to_string(number); };
  return "sent " + n(sent) + " = handled at once " + n(at_once) + " + handled after retries " + n(after_retries) +
         " + dead letters " + n(dead) + " (replayed " + n(replayed) + ": succeeded " + n(succeeded) + ", came back " +
         n(came_back) + ") = " + n(at_once + after_retries + dead) + "   lost " + n(lost) + "   order kept in " +
         n(in_order) + " of " + n(keys) + " keys";
}

DemoAccount demo_account(std::int64_t wanted, const std::map<std::int64_t, std::string>& sent,
                         const std::vector<DemoLetter>& letters, const std::vector<DemoAttempt>& attempts) {
  DemoAccount account;
  account.wanted = wanted;
  account.sent = static_cast<std::int64_t>(sent.size());
  std::set<std::int64_t> dead;
  for (const DemoLetter& letter : letters) dead.insert(letter.order);
  std::map<std::int64_t, Seen> seen;
  std::map<std::string, std::int64_t> last;  // handled of a key; only orders that did not die
  std::set<std::string> keys, out_of_order;
  for (const auto& [order, key] : sent) keys.insert(key);
  for (const DemoAttempt& attempt : attempts) {
    Seen& one = seen[attempt.order];
    if (attempt.replay) {
      one.handled_again = one.handled_again || attempt.good;
      continue;
    }
    if (!attempt.good) one.failed = one.failed || !one.handled;
    // A crash may repeat what was handled; the first time is what counts.
    if (!attempt.good || std::exchange(one.handled, true) || dead.contains(attempt.order)) continue;
    const auto key = sent.find(attempt.order);
    if (key == sent.end()) continue;
    const auto [at, first] = last.try_emplace(key->second, attempt.order);
    if (!first && at->second > attempt.order) out_of_order.insert(key->second);
    at->second = attempt.order;
  }
  for (const auto& [order, key] : sent) {
    if (dead.contains(order)) continue;
    const Seen one = seen[order];
    if (!one.handled)
      ++account.lost;
    else
      ++(one.failed ? account.after_retries : account.at_once);
  }
  for (const DemoLetter& letter : letters) {
    ++account.dead;
    if (!letter.resolved && !letter.replayed) continue;
    ++account.replayed;
    if (!letter.resolved)
      ++account.came_back;
    else if (seen[letter.order].handled_again)
      ++account.succeeded;
    else
      ++account.lost;
  }
  account.keys = static_cast<std::int64_t>(keys.size());
  account.in_order = account.keys - static_cast<std::int64_t>(out_of_order.size());
  return account;
}

}  // namespace bartleby
