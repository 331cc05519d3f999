// Archives and retention: bytes leave the store only when they are in a file, and come back as they were.
#include "office/archive_upkeep.h"
#include "office/lease.h"
#include "office/sql.h"
#include "tests/contract/store_archives.h"

namespace bartleby::contract {
namespace {

constexpr Duration kHour{3600 * 1000}, kDay{24 * kHour};
const Actor kAnn{"ann", "wanted after all", "req_1"};

RuleOf keep(std::optional<Duration> time, Then then = Then::kArchive, DlqClass dlq_class = DlqClass::kNormal) {
  return [=](const std::string&) { return DlqRule{dlq_class, time, then}; };
}

TEST_P(StoreArchives, OldLettersAreArchivedAndComeBackByteByByte) {
  take_in_three();
  now_ += 31 * kDay;
  take_in({letter(4)});
  const RetentionReport report = tidy(keep(30 * kDay));
  EXPECT_EQ(report.archived, 3U);
  EXPECT_EQ(report.archives, 1U);
  EXPECT_EQ(number("SELECT count(*) FROM payloads"), 1) << "the young one's";
  EXPECT_EQ(state(2), LetterState::kArchived);
  EXPECT_EQ(state(4), LetterState::kOpen);
  expect_counts_are_exact();

  const auto back = restore_archive(store(), files_, only_archive(), kAnn, now_);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->restored, 3U);
  EXPECT_EQ(state(2), LetterState::kOpen);
  EXPECT_EQ(payload(2), odd_);
  expect_counts_are_exact();
  const auto again = restore_archive(store(), files_, only_archive(), kAnn, now_);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->restored, 0U);
  EXPECT_EQ(again->left_alone, 3U);
  const RetentionReport later = tidy(keep(30 * kDay));
  EXPECT_EQ(later.archived, 0U) << "its time begins anew";
  EXPECT_EQ(later.removed, 1U) << "nothing is left in it";
  EXPECT_TRUE(files_.files.empty());
}

TEST_P(StoreArchives, WhatIsPurgedLeavesItsArchiveToo) {
  take_in_three();
  now_ += 31 * kDay;
  tidy(keep(30 * kDay));
  const std::string before = only_archive();
  change(letter(3).letter.id, LetterCause::kPurge);
  files_.full = true;
  EXPECT_FALSE(keep_tidy(store(), files_, keep(30 * kDay), kKeepOperations, "a", now_));
  EXPECT_EQ(only_archive(), before) << "not before the new file is there";
  files_.full = false;
  const RetentionReport report = tidy(keep(30 * kDay));
  EXPECT_EQ(report.rewritten, 1U);
  const std::string after = only_archive();
  EXPECT_NE(after, before);
  ASSERT_EQ(files_.files.size(), 2U) << "the old file and its manifest are gone";
  EXPECT_TRUE(files_.files.contains(after + ".jsonl.zst"));
  EXPECT_NE(files_.files[after + ".json"].find("\"letters\":2"), std::string::npos);
  EXPECT_EQ(number("SELECT letters FROM archives"), 2);
  EXPECT_EQ(tidy(keep(30 * kDay)).rewritten, 0U) << "once";
  const auto back = restore_archive(store(), files_, after, kAnn, now_);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->restored, 2U);
  EXPECT_EQ(payload(2), odd_);

  change(letter(1).letter.id, LetterCause::kPurge);
  EXPECT_EQ(tidy(keep(30 * kDay)).removed, 1U);
  EXPECT_TRUE(files_.files.empty());
  EXPECT_EQ(number("SELECT count(*) FROM archives"), 0);
  now_ += kHour;
  tidy(keep(30 * kDay));
  EXPECT_EQ(number("SELECT count(*) FROM archive_files_left"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM audit_log WHERE action IN ('rewrite', 'remove')"), 2);
  expect_counts_are_exact();
}

TEST_P(StoreArchives, AFileThatCouldNotBeDeletedIsDeletedLater) {
  take_in_three();
  now_ += 31 * kDay;
  tidy(keep(30 * kDay));
  for (const std::int64_t n : {1, 2, 3}) change(letter(n).letter.id, LetterCause::kPurge);
  files_.full = true;
  EXPECT_FALSE(keep_tidy(store(), files_, keep(30 * kDay), kKeepOperations, "a", now_));
  EXPECT_EQ(files_.files.size(), 2U);
  EXPECT_EQ(number("SELECT count(*) FROM archives"), 0);
  files_.full = false;
  now_ += kHour;
  tidy(keep(30 * kDay));
  EXPECT_TRUE(files_.files.empty());
}

TEST_P(StoreArchives, AFileWhoseWriterDiedBeforeItWasListedIsDeletedLater) {
  take_in_three();
  now_ += 31 * kDay;
  files_.putting = [&] { files_.full = true; };  // as if it had died after its first file
  EXPECT_FALSE(keep_tidy(store(), files_, keep(30 * kDay), kKeepOperations, "a", now_));
  ASSERT_EQ(files_.files.size(), 1U);
  const std::string file = files_.files.begin()->first;
  files_.putting = nullptr;
  files_.full = false;
  now_ += kHour;
  EXPECT_EQ(tidy(keep(30 * kDay)).archived, 3U);
  EXPECT_FALSE(files_.files.contains(file));
  EXPECT_EQ(files_.files.size(), 2U) << "those of the archive that is listed";
}

TEST_P(StoreArchives, AnArchiveWhoseFilesAnotherOfficeDeletesMeanwhileIsNotListed) {
  take_in_three();
  now_ += 31 * kDay;
  files_.putting = [&] {
    files_.putting = nullptr;
    ASSERT_TRUE(tidy_archives(store(), files_, 10, now_));
  };
  const auto fenced = keep_tidy(store(), files_, keep(30 * kDay), kKeepOperations, "a", now_);
  ASSERT_FALSE(fenced);
  EXPECT_EQ(fenced.error().code, ErrorCode::kFenced);
  EXPECT_EQ(state(1), LetterState::kOpen) << "its bytes stay in the store";
  EXPECT_EQ(number("SELECT count(*) FROM archives"), 0);
  EXPECT_TRUE(files_.files.empty()) << "written after they were deleted, and deleted again";
  EXPECT_EQ(tidy(keep(30 * kDay)).archived, 3U);
  EXPECT_EQ(files_.files.size(), 2U);
  EXPECT_TRUE(files_.files.contains(only_archive() + ".jsonl.zst"));
  EXPECT_EQ(restore_archive(store(), files_, only_archive(), kAnn, now_).value().restored, 3U);
}

TEST_P(StoreArchives, OfTwoOfficesThatRewriteOneArchiveTheSecondGivesUp) {
  take_in_three();
  now_ += 31 * kDay;
  tidy(keep(30 * kDay));
  change(letter(3).letter.id, LetterCause::kPurge);
  files_.got = [&] {
    files_.got = nullptr;
    ASSERT_TRUE(tidy_archives(store(), files_, 10, now_));
  };
  const auto second = tidy_archives(store(), files_, 10, now_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kFenced);
  now_ += kHour;
  tidy(keep(30 * kDay));
  EXPECT_EQ(files_.files.size(), 2U);
  EXPECT_TRUE(files_.files.contains(only_archive() + ".jsonl.zst"));
}

TEST_P(StoreArchives, AFileThatAnArchiveHasIsNotDeleted) {
  take_in_three();
  now_ += 31 * kDay;
  tidy(keep(30 * kDay));
  write([&](Connection& connection) { return leave_files(connection, only_archive()); });
  tidy(keep(30 * kDay));
  EXPECT_EQ(files_.files.size(), 2U);
  EXPECT_EQ(number("SELECT count(*) FROM archive_files_left"), 0);
}

TEST_P(StoreArchives, AFileThatIsLeftAgainWhileItIsBeingDeletedIsDeletedAgain) {
  take_in_three();
  write([&](Connection& connection) { return leave_files(connection, "arc_1"); });
  tidy(keep(30 * kDay));
  now_ += kHour;
  // Its second time; a writer that stood still writes it after that, and is told that it is not its own any more.
  files_.removing = [&] {
    files_.removing = nullptr;
    files_.files["arc_1.jsonl.zst"] = "late";
    write([&](Connection& connection) { return leave_files(connection, "arc_1"); });
  };
  tidy(keep(30 * kDay));
  EXPECT_EQ(number("SELECT count(*) FROM archive_files_left"), 2);
  tidy(keep(30 * kDay));
  EXPECT_TRUE(files_.files.empty());
}

TEST_P(StoreArchives, OneFileThatCannotBeDeletedHoldsUpNoOther) {
  take_in_three();
  for (const char* id : {"arc_1", "arc_2"}) write([&](Connection& connection) { return leave_files(connection, id); });
  files_.files = {{"arc_1.jsonl.zst", "a"}, {"arc_2.jsonl.zst", "b"}};
  files_.stuck = "arc_1.jsonl.zst";
  EXPECT_FALSE(keep_tidy(store(), files_, keep(30 * kDay), kKeepOperations, "a", now_));
  EXPECT_EQ(files_.files.size(), 1U);
  EXPECT_TRUE(files_.files.contains(files_.stuck));
}

TEST_P(StoreArchives, ADamagedArchiveThatLettersLeaveIsLeftAloneAndTold) {
  take_in_three();
  now_ += 31 * kDay;
  tidy(keep(30 * kDay));
  const std::string id = only_archive();
  files_.files[id + ".jsonl.zst"].back() ^= 1;
  change(letter(3).letter.id, LetterCause::kPurge);
  const RetentionReport report = tidy(keep(30 * kDay));
  EXPECT_EQ(report.damaged, std::vector<std::string>{id});
  EXPECT_EQ(files_.files.size(), 2U);
}

TEST_P(StoreArchives, AnArchiveThatCannotBeRewrittenForLackOfRoomDoesNotKeepFilesFromBeingDeleted) {
  const auto [first, second] = two_archives();
  change(letter(3).letter.id, LetterCause::kPurge);
  for (const std::int64_t n : {4, 5}) change(letter(n).letter.id, LetterCause::kPurge);
  write([&](Connection& connection) { return leave_files(connection, "arc_1"); });
  files_.files["arc_1.jsonl.zst"] = "left over";
  files_.no_room = true;
  EXPECT_FALSE(keep_tidy(store(), files_, keep(30 * kDay), kKeepOperations, "a", now_));
  EXPECT_EQ(only_archive(), first) << "the other is removed";
  EXPECT_EQ(files_.files.size(), 2U);
  EXPECT_TRUE(files_.files.contains(first + ".jsonl.zst"));
  files_.no_room = false;
  EXPECT_EQ(tidy(keep(30 * kDay)).rewritten, 1U);
}

TEST_P(StoreArchives, ADamagedArchiveHoldsUpNoOther) {
  const auto [first, second] = two_archives();
  files_.files[first + ".jsonl.zst"].back() ^= 1;
  for (const std::int64_t n : {3, 4}) change(letter(n).letter.id, LetterCause::kPurge);
  const auto done = tidy_archives(store(), files_, 1, now_);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->damaged, std::vector<std::string>{first});
  EXPECT_EQ(done->rewritten, 1U);
  EXPECT_EQ(number("SELECT count(*) FROM archives_left"), 1);
}

TEST_P(StoreArchives, WhatCannotBeWrittenStaysInTheStore) {
  take_in_three();
  now_ += 31 * kDay;
  files_.full = true;
  EXPECT_FALSE(keep_tidy(store(), files_, keep(30 * kDay), kKeepOperations, "a", now_));
  EXPECT_EQ(state(1), LetterState::kOpen);
  EXPECT_EQ(number("SELECT count(*) FROM payloads"), 3);
  files_.full = false;
  EXPECT_EQ(tidy(keep(30 * kDay)).archived, 3U);
}

TEST_P(StoreArchives, AnArchiveThatCannotBeWrittenHoldsUpNothingElse) {
  take_in_three();                             // of orders.dlq, which comes first
  take_in({letter(10), letter(11)}, "z.dlq");  // deleted when they are old
  take_in({letter(12)}, "a.dlq");
  change(letter(12).letter.id, LetterCause::kDiscard, {}, {.undo_until = now_ + kDay});
  change(letter(3).letter.id, LetterCause::kReplay);
  change(letter(3).letter.id, LetterCause::kSucceeded);
  now_ += 31 * kDay;
  const RuleOf rule = [](const std::string& dlq) {
    return DlqRule{DlqClass::kNormal, 30 * kDay, dlq == "z.dlq" ? Then::kPurge : Then::kArchive};
  };
  files_.full = true;
  const auto failed = keep_tidy(store(), files_, rule, kKeepOperations, "a", now_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "the disk is full");
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 2) << "those that wait for their archive";
  EXPECT_EQ(number("SELECT count(*) FROM payloads"), 2);
  expect_counts_are_exact();
  files_.full = false;
  EXPECT_EQ(tidy(rule).archived, 2U);
}

TEST_P(StoreArchives, ADamagedLetterStaysIsNamedAndTheOthersAreArchived) {
  std::vector<Arrival> many;
  for (std::int64_t n = 0; n < 520; ++n) many.push_back(letter(n));
  take_in(std::move(many));
  const StoredLetter bad = get(letter(2).letter.id), gone = get(letter(4).letter.id);
  write([&](Connection& c) -> Result<void> {
    BARTLEBY_TRY(sql::execute(c, "UPDATE payloads SET bytes = $2 WHERE letter = $1", bad.seq, Blob{"?"}));
    return sql::execute(c, "DELETE FROM payloads WHERE letter = $1", gone.seq);
  });
  now_ += 31 * kDay;
  const RetentionReport report = tidy(keep(30 * kDay));
  EXPECT_EQ(report.archived, 518U);
  EXPECT_EQ(report.left_out, 2U);
  ASSERT_EQ(report.named.size(), 2U);
  EXPECT_EQ(report.named[0].id, bad.id);
  EXPECT_EQ(report.named[0].why, "a letter's payload is packed in a way that is not known");
  EXPECT_EQ(report.named[1].id, gone.id);
  EXPECT_EQ(report.named[1].why, "its bytes are not here");
  EXPECT_EQ(get(bad.id).state, LetterState::kOpen);
  EXPECT_EQ(get(gone.id).state, LetterState::kOpen);
  EXPECT_EQ(
      restore_archive(store(), files_, text("SELECT id FROM archives ORDER BY seq LIMIT 1"), kAnn, now_)->restored,
      498U)
      << "all of its slice but two";
}

TEST_P(StoreArchives, WhatCouldNotBeReadBackIsNotArchived) {
  take_in_three();
  const std::vector<std::int64_t> all = {get_seq(1), get_seq(2), get_seq(3)};
  // Letter 2 has 5000 bytes.
  const auto line =
      archive_letters(store(), files_, "orders.dlq", {all[1]}, kAnn, now_, {.bytes = 1 << 20, .line = 4000});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->letters, 0U);
  ASSERT_EQ(line->left_out.size(), 1U);
  EXPECT_TRUE(line->left_out[0].why.ends_with("a line of an archive has at most 4000")) << line->left_out[0].why;
  const auto file =
      archive_letters(store(), files_, "orders.dlq", {all[0]}, kAnn, now_, {.bytes = 1 << 20, .file = 100});
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->letters, 0U);
  ASSERT_EQ(file->left_out.size(), 1U);
  EXPECT_TRUE(files_.files.empty());
  EXPECT_EQ(number("SELECT count(*) FROM payloads"), 3);
  EXPECT_EQ(state(2), LetterState::kOpen);
  const auto others = archive_letters(store(), files_, "orders.dlq", all, kAnn, now_, {.bytes = 1 << 20, .line = 4000});
  ASSERT_TRUE(others) << others.error().message;
  EXPECT_EQ(others->letters, 2U);
  EXPECT_EQ(others->left_out.size(), 1U);
  expect_counts_are_exact();
}

TEST_P(StoreArchives, AllLivesOfALetterCountTowardsTheSizeOfAnArchive) {
  const auto large = [](std::int64_t n, std::uint32_t replays) {
    Arrival one = letter(n, replays);
    one.payload.value = std::string(replays == 0 ? 9000 : 10, 'x');
    one.letter.size = one.payload.value->size();
    return one;
  };
  take_in({large(1, 0), large(2, 0)});
  take_in({large(1, 1), large(2, 1)});
  const std::vector<std::int64_t> both = {get(letter(1).letter.id).seq, get(letter(2).letter.id).seq};
  const auto first = archive_letters(store(), files_, "orders.dlq", both, kAnn, now_, {.bytes = 10000});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->letters, 1U) << "the second comes with the next";
  EXPECT_EQ(first->looked_at, 1U);
}

TEST_P(StoreArchives, FinancialLettersStayAndSoDoThoseWithoutRetention) {
  take_in_three();
  now_ += 4000 * kDay;
  EXPECT_EQ(tidy(keep(kDay, Then::kPurge, DlqClass::kFinancial)).purged, 0U);
  EXPECT_EQ(tidy(keep(std::nullopt)).archived, 0U);
  EXPECT_EQ(state(1), LetterState::kOpen);
}

TEST_P(StoreArchives, FinancialLettersGoInTimeWhenSomebodyHasDealtWithThem) {
  take_in_three();
  const DlqRule rule = keep(30 * kDay, Then::kArchive, DlqClass::kFinancial)("orders.dlq");
  EXPECT_FALSE(expires_at(get(letter(1).letter.id), rule));
  change(letter(1).letter.id, LetterCause::kReplay);
  change(letter(1).letter.id, LetterCause::kSucceeded);
  EXPECT_TRUE(expires_at(get(letter(1).letter.id), rule));
  now_ += 29 * kDay;
  EXPECT_EQ(tidy(keep(30 * kDay, Then::kArchive, DlqClass::kFinancial)).purged, 0U);
  now_ += 2 * kDay;
  const RetentionReport done = tidy(keep(30 * kDay, Then::kArchive, DlqClass::kFinancial));
  EXPECT_EQ(done.purged, 1U);
  EXPECT_EQ(done.archived, 0U);
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 2);
  expect_counts_are_exact();
}

TEST_P(StoreArchives, PurgeDeletesAndResolvedOrDiscardedOnesAreDeletedInTime) {
  take_in_three();
  change(letter(1).letter.id, LetterCause::kReplay);
  change(letter(1).letter.id, LetterCause::kSucceeded);
  change(letter(2).letter.id, LetterCause::kDiscard, {}, {.undo_until = now_ + 3 * kDay});
  EXPECT_EQ(tidy(keep(30 * kDay)).purged, 0U);
  now_ += 4 * kDay;
  EXPECT_EQ(tidy(keep(30 * kDay)).purged, 1U) << "the discarded one";
  now_ += 31 * kDay;
  EXPECT_EQ(tidy(keep(30 * kDay, Then::kPurge)).purged, 2U);
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM payloads"), 0);
  expect_counts_are_exact();
}

TEST_P(StoreArchives, ADamagedArchiveRestoresNothing) {
  take_in_three();
  now_ += 31 * kDay;
  tidy(keep(30 * kDay));
  const std::string id = only_archive();
  files_.files[id + ".jsonl.zst"].back() ^= 1;
  const auto refused = restore_archive(store(), files_, id, kAnn, now_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("checksum"), std::string::npos) << refused.error().message;
  EXPECT_EQ(state(1), LetterState::kArchived);
  EXPECT_FALSE(restore_archive(store(), files_, "arc_none", kAnn, now_));
}

TEST_P(StoreArchives, ALaterFailureIsNotHiddenByTheArchive) {
  take_in_three();
  now_ += 31 * kDay;
  tidy(keep(30 * kDay));
  take_in({letter(1, 1)});
  EXPECT_EQ(state(1), LetterState::kOpen) << "a later life died";
  const auto back = restore_archive(store(), files_, only_archive(), kAnn, now_);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->restored, 2U);
  EXPECT_EQ(back->left_alone, 1U);
  expect_counts_are_exact();
}

TEST_P(StoreArchives, ACopyOfAnEarlierLifeIsKnownThoughTheBytesAreArchived) {
  take_in_three();
  Arrival again = letter(1, 1);
  again.payload.headers.emplace_back("bartleby-replay", "1");
  take_in({again});
  now_ += 31 * kDay;
  tidy(keep(30 * kDay));
  ASSERT_EQ(state(1), LetterState::kArchived);
  const IntakeReport copies = take_in({letter(1), again});
  EXPECT_EQ(copies.duplicates, 2U);
  EXPECT_EQ(copies.incidents, 0U);
  Arrival other = letter(1);
  other.payload.value = "another message with the same id";
  EXPECT_EQ(take_in({other}).incidents, 1U);
  EXPECT_EQ(number("SELECT count(*) FROM letters"), 4);
  expect_counts_are_exact();
}

TEST_P(StoreArchives, OneOfficeAtATimeTidies) {
  take_in_three();
  now_ += 31 * kDay;
  ASSERT_TRUE(take_lease(store(), kRetentionLease, "b", now_, Duration(1000)).value());
  EXPECT_TRUE(tidy(keep(30 * kDay)).skipped);
  now_ += Duration(2000);
  EXPECT_EQ(tidy(keep(30 * kDay)).archived, 3U);
}

TEST_P(StoreArchives, ManyGoInSlicesAndAllComeBack) {
  std::vector<Arrival> many;
  for (std::int64_t n = 1; n <= 1200; ++n) many.push_back(letter(n));
  take_in(std::move(many));
  now_ += 31 * kDay;
  const RetentionReport report = tidy(keep(30 * kDay));
  EXPECT_EQ(report.archived, 1200U);
  EXPECT_EQ(report.archives, 3U);
  std::vector<ArchiveEntry> all;
  read([&](Connection& c) -> Result<void> {
    auto first = list_archives(c, "", 2);
    if (!first) return std::unexpected(first.error());
    auto rest = list_archives(c, first->back().id, 2);
    if (!rest) return std::unexpected(rest.error());
    all = std::move(*first);
    all.insert(all.end(), rest->begin(), rest->end());
    return {};
  });
  ASSERT_EQ(all.size(), 3U);
  std::int64_t here = 0;
  for (const ArchiveEntry& entry : all) {
    here += entry.here;
    ASSERT_TRUE(restore_archive(store(), files_, entry.id, kAnn, now_));
  }
  EXPECT_EQ(here, 1200);
  EXPECT_EQ(count("state:open").value, 1200);
  expect_counts_are_exact();
}

}  // namespace
}  // namespace bartleby::contract
