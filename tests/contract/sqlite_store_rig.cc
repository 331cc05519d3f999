// The SQLite store under the store contract.
#include "adapters/store/sqlite/sqlite_store.h"
#include "tests/contract/store_archives.h"
#include "tests/contract/store_newer.h"
#include "tests/contract/store_operations.h"
#include "tests/contract/store_sinks.h"
#include "tests/support/scratch_folder.h"

namespace bartleby::contract {
namespace {

class SqliteStoreRig : public StoreRig {
 public:
  std::unique_ptr<Store> open() override {
    auto store = sqlite_store::SqliteStore::open({.folder = folder_.path()});
    EXPECT_TRUE(store) << store.error().message;
    return store ? std::move(*store) : nullptr;
  }

 private:
  support::ScratchFolder folder_;
};

StoreRigFactory sqlite() {
  return {"sqlite", [] { return std::make_unique<SqliteStoreRig>(); }};
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, testing::Values(sqlite()),
                         [](const auto& rig) { return rig.param.name; });
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreArchives, testing::Values(sqlite()),
                         [](const auto& rig) { return rig.param.name; });
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreSinks, testing::Values(sqlite()), [](const auto& rig) { return rig.param.name; });
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreOperations, testing::Values(sqlite()),
                         [](const auto& rig) { return rig.param.name; });
INSTANTIATE_TEST_SUITE_P(Sqlite, StoreNewerMessages, testing::Values(sqlite()),
                         [](const auto& rig) { return rig.param.name; });

}  // namespace
}  // namespace bartleby::contract
