// What becomes of things by the clock: letters are archived or deleted, ended operations forgotten, archives kept up;
// and people who restore an archive.
#include "office/archive_upkeep.h"
#include "office/archives.h"
#include "tests/sim/office_world.h"

namespace bartleby::sim {

void OfficeWorld::draw_keeping() {
  keeps_ = random().chance(60);
  two_keepers_ = random().chance(50);
  constexpr std::array<std::int64_t, 4> kTimes = {500, 5000, 60000, 1800000};
  rule_.keep = Duration(kTimes[random().below(kTimes.size())]);
  rule_.then = random().chance(75) ? Then::kArchive : Then::kPurge;
  keep_operations_ = Duration(kTimes[random().below(kTimes.size())]);
}

// Also in smaller steps than the office takes, so that a crash finds them half done.
void OfficeWorld::tidy() {
  const Timestamp now = scheduler_.wall();
  checker_->forgets(now - keep_operations_);
  const auto saw = [&](OfficeSeen what, std::size_t times) {
    if (times > 0) coverage_.saw(what);
  };
  const std::uint64_t what = random().below(10);
  if (what < 3) {
    const int most = static_cast<int>(random().between(1, 4));
    const auto forgotten = forget_operations(*store_, now - keep_operations_, most, random().between(1, 5), now);
    return note("forgets " + (forgotten ? std::to_string(*forgotten) + " operations" : "no operation: not answered"));
  }
  std::vector<std::string> damaged;
  if (what < 5) {
    const auto upkeep = tidy_archives(*store_, archive_, static_cast<std::size_t>(random().between(1, 2)), now);
    if (!upkeep) return note("upkeep of archives was not answered");
    damaged = upkeep->damaged;
    saw(OfficeSeen::kRewritten, upkeep->rewritten);
    saw(OfficeSeen::kRemoved, upkeep->removed);
  } else {
    const auto rule_of = [this](const std::string& dlq) { return dlq == "mails.dlq" ? DlqRule{.keep = {}} : rule_; };
    const auto kept = keep_tidy(*store_, archive_, rule_of, keep_operations_, "office", now);
    if (!kept) return note("retention was not answered");
    damaged = kept->damaged;
    saw(OfficeSeen::kArchived, kept->archived);
    saw(OfficeSeen::kExpiredLetter, kept->purged);
    saw(OfficeSeen::kRewritten, kept->rewritten);
    saw(OfficeSeen::kRemoved, kept->removed);
    note("retention: " + std::to_string(kept->archived) + " archived, " + std::to_string(kept->purged) + " deleted, " +
         std::to_string(kept->operations) + " operations forgotten, " + std::to_string(kept->rewritten) +
         " archives rewritten, " + std::to_string(kept->removed) + " removed");
  }
  if (!damaged.empty()) checker_->broken("an archive is not what was written: " + damaged.front());
}

void OfficeWorld::restore_an_archive() {
  const auto& archives = checker_->picture().archives;
  if (archives.empty()) return;
  const auto which = std::next(archives.begin(), static_cast<long>(random().below(archives.size())));
  const std::string id = which->second.id;
  const auto restored = restore_archive(*store_, archive_, id, {"ann", "needed", "r2"}, scheduler_.wall());
  note("restores " + id + (restored ? ": " + std::to_string(restored->restored) : " was not answered"));
  if (!restored && restored.error().code != ErrorCode::kUnavailable)
    checker_->broken("an archive cannot be restored: " + restored.error().message);
}

// An office that has the lease because the first stood still for too long: it works between two calls of the first.
void OfficeWorld::another_keeper() {
  nested_ = true;
  try {
    if (tidy_archives(*store_, archive_, 2, scheduler_.wall())) coverage_.saw(OfficeSeen::kTwoKeepers);
    note("another keeper of archives");
  } catch (const OfficeCrash&) {
    note("the other keeper crashed");
  }
  nested_ = false;
}

// Files are looked for once more after an hour.
bool OfficeWorld::waits_for_files() const {
  const OfficeChecker::Picture& p = checker_->picture();
  return keeps_ && p.archives_left.empty() && !p.files_left.empty();
}

// In a world that keeps nothing, nothing has left an archive either.
bool OfficeWorld::tidied() const {
  const OfficeChecker::Picture& p = checker_->picture();
  return !keeps_ || (p.archives_left.empty() && p.files_left.empty());
}

}  // namespace bartleby::sim
