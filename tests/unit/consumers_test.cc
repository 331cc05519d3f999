// Consumers as workers: what is run, and what two that share a name come to.
#include "wiring/consumers.h"

#include <gtest/gtest.h>

#include "adapters/store/sqlite/sqlite_store.h"
#include "office/sql.h"
#include "tests/support/scratch_folder.h"

namespace bartleby {
namespace {

TEST(ConsumerFollower, OfTwoWithOneWorkerTheFirstRunsAndIsLeftAlone) {
  const support::ScratchFolder folder;
  const auto store = sqlite_store::SqliteStore::open({.folder = folder.path()}).value();
  // From before this was refused.
  ASSERT_TRUE(store->write([](Connection& connection) -> Result<void> {
    for (const auto& [channel, id] : {std::pair("a", "b.c"), std::pair("a.b", "c")})
      BARTLEBY_TRY(sql::execute(connection,
                                "INSERT INTO consumers(channel, id, name, url, token, retry, reject, starts, paused,"
                                " created_at) VALUES($1, $2, 'n', 'http://127.0.0.1:1/', 'token-12', '', '', '', 0, 0)",
                                channel, id));
    return {};
  }));
  Log log(LogFormat::kText, LogLevel::kError);
  std::vector<std::string> ran;
  ConsumerFollower follower(*store, log, "local", true,
                            {.run = [&](const WorkerConfig& worker) -> Result<void> {
                               ran.push_back(worker.name + " of " + worker.topics.front());
                               return {};
                             },
                             .end = [](const std::string&) { FAIL(); },
                             .pause = [](const std::string&, bool) { return Result<void>(); },
                             .changed = [](const std::vector<WorkerConfig>&) {}});
  for (int i = 0; i < 3; ++i) follower.look();
  EXPECT_EQ(ran, std::vector<std::string>{"a.b.c of a"});
}

}  // namespace
}  // namespace bartleby
