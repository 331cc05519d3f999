// A topic with messages, a group's commit and letters, for plans that look for newer messages of the letters' keys.
// What differs between stores is the rig alone.
#pragma once

#include <string>
#include <vector>

#include "office/newer_messages.h"
#include "tests/contract/store_operations.h"

namespace bartleby::contract {

class StoreNewerMessages : public StoreOperations {
 protected:
  // Messages 0 to count - 1, with the keys that `letter` has; the first of them are letters.
  void messages(std::int64_t count, std::int64_t dead) {
    std::vector<Record> all;
    for (std::int64_t n = 0; n < count; ++n)
      all.push_back({"orders", Partition(0), "customer-" + std::to_string(n % 10), "{}", {}});
    ASSERT_TRUE(cluster_.produce(all));
    if (dead > 0) letters(dead);
  }
  void commit(std::int64_t offset, const std::string& metadata = "", const std::string& group = "billing") {
    ASSERT_TRUE(cluster_.commit_first(group, {{{"orders", Partition(0)}, Offset(offset), metadata}}));
  }
  Operation planned(const LogLookLimits& limits = {}) {
    OperationsOptions o = options();
    o.finished = [&](const KeyOffsets& oldest) { return finished_in_log(cluster_, clock_, oldest, limits); };
    OperationRequest all = request(OperationKind::kReplay);
    all.look_in_log = true;
    auto made = Operations(store(), clock_, o).plan(all, kAnn);
    EXPECT_TRUE(made) << made.error().message;
    return made ? *made : Operation{};
  }
  std::vector<std::string> marked(const Operation& operation) {
    std::vector<std::string> out;
    const auto items = operations().results(operation.id, std::nullopt, std::nullopt, 50).value();
    for (const OperationItem& item : items)
      if (item.note == "a newer message of its key was handled already") out.push_back(item.letter_id);
    return out;
  }
};

}  // namespace bartleby::contract
