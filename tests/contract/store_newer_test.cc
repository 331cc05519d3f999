// Letters whose keys went on without them: newer messages that were handled, as log, commits and letters tell.
#include "tests/contract/store_newer.h"

#include "codec/lane.h"
#include "codec/metadata.h"

namespace bartleby::contract {
namespace {

TEST_P(StoreNewerMessages, OneThatWasHandledAndNeverDiedIsSeenInTheLog) {
  messages(20, 12);
  commit(13);
  const Operation operation = planned();
  EXPECT_EQ(operation.report.order_conflicts, 1) << "10 and 11 are newer than 0 and 1, and dead; 12 was handled";
  EXPECT_EQ(marked(operation), std::vector{letter(2).letter.id});
  EXPECT_TRUE(operation.report.warnings.empty());
}

TEST_P(StoreNewerMessages, OneThatWasNotReachedOrBelongsToAnotherGroupDoesNotCount) {
  messages(20, 10);
  EXPECT_EQ(planned().report.order_conflicts, 0) << "the group has no commit";
  commit(20, "", "shipping");
  commit(10);
  EXPECT_EQ(planned().report.order_conflicts, 0);
}

TEST_P(StoreNewerMessages, WhatWaitsInAnOpenLaneIsNotHandledAndWhatIsBesideItIs) {
  messages(20, 10);
  CommitMetadata said;
  said.high = Offset(19);
  said.check = JournalCheck{};
  said.heads = {{Offset(10), lane_of("customer-0")}, {Offset(14), lane_of("customer-4")}};
  commit(10, encode_metadata(said, Offset(10)));
  const Operation operation = planned();
  EXPECT_EQ(operation.report.order_conflicts, 7) << "all but 0 and 4, which wait, and 9, which is not reached";
  const auto found = marked(operation);
  for (const std::int64_t n : {0, 4, 9}) EXPECT_EQ(std::ranges::count(found, letter(n).letter.id), 0) << n;
}

TEST_P(StoreNewerMessages, WhatIsParkedOrHeldBehindItIsNotHandledThoughNoHeadNamesIt) {
  messages(30, 10);
  CommitMetadata said;  // as the engine writes it: 10 has its entry in the journal, so its lane is no head
  said.high = Offset(30);
  said.check = JournalCheck{1, 4711};
  commit(10, encode_metadata(said, Offset(10)));
  const std::vector<std::string> told{
      "newer messages of the same keys were looked for below the first that waits for a retry only: there may be more"};
  const Operation operation = planned();
  EXPECT_EQ(operation.report.order_conflicts, 0) << "10 is parked, 20 waits behind it; of the others nobody knows";
  EXPECT_EQ(operation.report.warnings, told);
  said.check = std::nullopt;
  commit(10, encode_metadata(said, Offset(10)));
  EXPECT_EQ(planned().report.warnings, told) << "nothing is said of the journal";
  said.high = Offset(11);
  said.check = JournalCheck{1, 4711};
  commit(11, encode_metadata(said, Offset(11)));
  const Operation reached = planned();
  EXPECT_EQ(reached.report.order_conflicts, 1) << "10 was handled";
  EXPECT_TRUE(reached.report.warnings.empty()) << "nothing is left out";
}

TEST_P(StoreNewerMessages, AReplayIsNoNewerMessage) {
  messages(1, 1);
  OperationRequest again = of_ids({letter(0).letter.id});
  run(started(again));
  ASSERT_EQ(cluster_.log_range({"orders", Partition(0)})->second, Offset(2));
  ASSERT_EQ(take_in({letter(0, 1)}).came_back, 1U);
  commit(2);
  EXPECT_EQ(planned().report.order_conflicts, 0) << "it is the letter itself";
}

TEST_P(StoreNewerMessages, ALongLogIsLookedAtFromItsEndAndThePlanSaysSo) {
  messages(200, 10);
  commit(200);
  const std::vector<std::string> told{
      "newer messages of the same keys were looked for in the newest part of the log only"};
  const Operation few = planned({.records = 4});
  EXPECT_EQ(few.report.order_conflicts, 4) << "196 to 199";
  EXPECT_EQ(marked(few).back(), letter(9).letter.id);
  EXPECT_EQ(few.report.warnings, told);
  const Operation small = planned({.bytes = 1});
  EXPECT_EQ(small.report.order_conflicts, 0) << "one record was read";
  EXPECT_EQ(small.report.warnings, told);
  const Operation late = planned({.time = Duration(0)});
  EXPECT_EQ(late.report.order_conflicts, 0);
  EXPECT_EQ(late.report.warnings, told);
  EXPECT_TRUE(planned().report.warnings.empty());
}

TEST_P(StoreNewerMessages, WhatCannotBeLookedAtIsToldOnce) {
  messages(40, 10);
  commit(40);
  cluster_.delete_before({"orders", Partition(0)}, Offset(38));
  const Operation deleted = planned();
  EXPECT_EQ(deleted.report.order_conflicts, 2) << "38 and 39 are left";
  EXPECT_EQ(deleted.report.warnings,
            std::vector<std::string>{"newer messages of the same keys may have been deleted from the log already"});
  std::vector<Arrival> gone{letter(50), letter(51), letter(52), letter(53)};
  for (Arrival& one : gone) one.letter.shelf.topic = "gone";
  gone[2].letter.shelf.topic = "lost";
  gone[3].letter.shelf.topic = "lost";
  gone[3].letter.job.partition = Partition(1);
  take_in(gone);
  const auto warnings = planned().report.warnings;
  EXPECT_EQ(std::ranges::count(warnings,
                               "newer messages of the same keys were not looked for in gone and 1 more: no "
                               "such topic: gone"),
            1);
}

}  // namespace
}  // namespace bartleby::contract
