// The fixture of the store contract: what every driver behind ports/store.h must do, and the office's statements on it.
//
// The tests are in store_*_test.cc; a rig registers its driver with INSTANTIATE_TEST_SUITE_P. One rig serves one test;
// `open` may be called again after the store is gone, and finds what was committed.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "office/arrival.h"
#include "office/letter_changes.h"
#include "office/letters.h"
#include "office/take_in.h"
#include "ports/store.h"

namespace bartleby::contract {

class StoreRig {
 public:
  virtual ~StoreRig() = default;
  virtual std::unique_ptr<Store> open() = 0;
};

struct StoreRigFactory {
  std::string name;
  std::function<std::unique_ptr<StoreRig>()> make;

  friend std::ostream& operator<<(std::ostream& out, const StoreRigFactory& f) { return out << f.name; }
};

class StoreContract : public testing::TestWithParam<StoreRigFactory> {
 protected:
  void SetUp() override {
    rig_ = GetParam().make();
    store_ = rig_->open();
    ASSERT_NE(store_, nullptr);
  }

  Store& store() { return *store_; }
  // Everything of the process is dropped; the data stays.
  void reopen() {
    store_.reset();
    store_ = rig_->open();
    ASSERT_NE(store_, nullptr);
  }

  // ---- Statements; a failure is a failure of the test
  void write(const Store::Work& work) {
    const auto done = store_->write(work);
    ASSERT_TRUE(done) << done.error().message;
  }
  void read(const Store::Work& work) {
    const auto done = store_->read(work);
    ASSERT_TRUE(done) << done.error().message;
  }
  std::int64_t number(std::string_view sql);
  std::string text(std::string_view sql);

  // ---- Letters
  // A letter of partition 0 of `orders.dlq`, from offset `n` of `orders`, unless the test changes it.
  static Arrival letter(std::int64_t n, std::uint32_t replays = 0);
  // Takes them in as one batch, and gives each its place in the dlq.
  IntakeReport take_in(std::vector<Arrival> letters, const std::string& dlq = "orders.dlq");
  ChangedLetter change(const std::string& id, LetterCause cause, const Seen& seen = {},
                       const ChangeOptions& options = {});
  std::vector<std::string> ids(std::string_view query, std::size_t limit = 50);
  LetterCount count(std::string_view query);
  StoredLetter get(const std::string& id);
  // Summary, counters and issues say what counting the rows says; the audit's chain is whole.
  void expect_counts_are_exact();

  Timestamp now_ = timestamp_ms(1'800'000'000'000);

 private:
  std::unique_ptr<StoreRig> rig_;
  std::unique_ptr<Store> store_;
};

Query parsed(std::string_view text);

}  // namespace bartleby::contract
