#include "wiring/demo_receiver.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/hash.h"

namespace bartleby {
namespace {

constexpr std::int64_t kKeys = 64;
constexpr std::chrono::milliseconds kWork{2};

// Of a thousand orders about 12 die, one in twelve of these also when it is replayed, and 58 need a second or third
// attempt.
bool succeeds(std::int64_t order, int attempt, bool replay) {
  const std::uint64_t dice = hash64("demo " + std::to_string(order));
  const std::uint64_t share = dice % 1000;
  if (replay) return (dice >> 32) % 12 != 0;
  if (share < 12) return false;
  if (share < 58) return attempt >= 2;
  return share >= 70 || attempt >= 3;
}

}  // namespace

std::optional<std::int64_t> demo_order(std::string_view value) {
  constexpr std::string_view kStart = R"({"order":)";
  if (!value.starts_with(kStart)) return std::nullopt;
  std::int64_t order = 0;
  const auto read = std::from_chars(value.data() + kStart.size(), value.data() + value.size(), order);
  if (read.ec != std::errc{}) return std::nullopt;
  return order;
}

std::string demo_key(std::int64_t order) {
  return "customer-" + std::to_string(hash64(std::to_string(order)) % static_cast<std::uint64_t>(kKeys));
}

Result<std::unique_ptr<DemoReceiver>> DemoReceiver::open(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) return fail(ErrorCode::kUnavailable, "cannot write " + path);
  std::unique_ptr<DemoReceiver> receiver(new DemoReceiver(file));
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    DemoAttempt one;
    if (words >> one.order >> one.attempt >> one.replay >> one.good) receiver->keep(one);
  }
  return receiver;
}

DemoReceiver::~DemoReceiver() { ::close(file_); }

void DemoReceiver::keep(const DemoAttempt& attempt) {
  const std::lock_guard lock(mutex_);
  attempts_.push_back(attempt);
  if (attempt.replay) return;
  bool& handled = first_lives_[attempt.order];
  handled = handled || attempt.good;
}

Outcome DemoReceiver::handle(const Message& message, const Attempt& attempt) {
  const auto order = demo_order(message.value());
  if (!order) return reject("NotAnOrder", "this is not an order of the demo");
  std::this_thread::sleep_for(kWork);
  const bool replay = attempt.replay_of().has_value();
  const DemoAttempt seen{*order, attempt.number(), replay, succeeds(*order, attempt.number(), replay)};
  std::ostringstream line;
  line << seen.order << ' ' << seen.attempt << ' ' << seen.replay << ' ' << seen.good << '\n';
  const std::string text = line.str();
  // In one write, before the answer: whatever dies now, this attempt was seen.
  if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return retry("NotWrittenDown", "the receiver cannot write down what it has seen");
  keep(seen);
  if (seen.good) return done();
  return retry(replay ? "StillOutOfStock" : "OutOfStock", "order " + std::to_string(seen.order) + " cannot be shipped");
}

std::vector<DemoAttempt> DemoReceiver::attempts() const {
  const std::lock_guard lock(mutex_);
  return attempts_;
}

std::int64_t DemoReceiver::handled() const {
  const std::lock_guard lock(mutex_);
  std::int64_t handled = 0;
  for (const auto& [order, good] : first_lives_) handled += good ? 1 : 0;
  return handled;
}

}  // namespace bartleby
