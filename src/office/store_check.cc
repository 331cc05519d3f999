#include "office/store_check.h"

#include "model/letter_state.h"
#include "office/sql.h"

namespace bartleby {

StoreCheck::StoreCheck(Store& store, const Clock& clock, Log& log, StoreCheckTimes times)
    : store_(store), clock_(clock), log_(log), times_(times), thread_([this] { work(); }) {}

StoreCheck::~StoreCheck() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_all();
  thread_.join();
}

StoreLook StoreCheck::ask() {
  std::unique_lock lock(mutex_);
  const Instant now = clock_.now().steady;
  if (!began_ && (!looked_at_ || now - *looked_at_ >= times_.fresh)) {
    began_ = now;
    wanted_.notify_all();
  }
  looked_.wait_for(lock, clock_.real(times_.patience), [&] { return !began_; });
  StoreLook answer = last_;
  if (began_) answer.waits = clock_.now().steady - *began_;
  return answer;
}

void StoreCheck::work() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      wanted_.wait(lock, [&] { return stopping_ || began_; });
      if (stopping_) return;
    }
    const auto open = look();
    const std::optional<Error> failure = open ? std::nullopt : std::optional(open.error());
    std::optional<Error> before;
    {
      const std::lock_guard lock(mutex_);
      before = std::exchange(last_.failure, failure);
      if (open) last_.open = *open;
      looked_at_ = clock_.now().steady;
      began_.reset();
    }
    looked_.notify_all();
    tell(before, failure);
  }
}

// A row that stays as it is: the file is written all the same, and the disk is waited for.
Result<std::int64_t> StoreCheck::look() {
  BARTLEBY_TRY(store_.write([](Connection& connection) -> Result<void> {
    const auto touched = sql::execute(connection, "UPDATE numbers SET next = next WHERE name = 'letter'");
    if (touched && connection.changes() != 1)
      return fail(ErrorCode::kMalformed, "the office's store has lost its numbers");
    return touched;
  }));
  std::int64_t open = 0;
  BARTLEBY_TRY(store_.read([&](Connection& connection) -> Result<void> {
    const auto found = sql::one(
        connection, "SELECT coalesce(sum(letters), 0) FROM counters WHERE state = $1",
        [](Rows& row) { return row.integer(0); }, static_cast<int>(LetterState::kOpen));
    if (!found) return std::unexpected(found.error());
    open = found->value_or(0);
    return {};
  }));
  return open;
}

void StoreCheck::tell(const std::optional<Error>& before, const std::optional<Error>& now) {
  if (now && !before) log_.error("store_not_working", {{"why", now->message}});
  if (!now && before) log_.info("store_works_again");
}

}  // namespace bartleby
