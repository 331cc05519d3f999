// The fixture of the sink contract: what every sink behind ports/sink.h must do.
//
// The tests are in sink_test.cc, and a rig registers its sink with INSTANTIATE_TEST_SUITE_P. Each test has a collection
// of its own, so that a server may be shared. `document` is the whole of what the sink holds of a key, as JSON text in
// the order of its fields, without what the server adds; `documents` is how many keys it has.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "ports/sink.h"

namespace bartleby::contract {

class SinkRig {
 public:
  virtual ~SinkRig() = default;
  virtual std::string why_not() const { return ""; }  // it cannot be had here
  virtual Sink& sink() = 0;
  // Another client of the same collection.
  virtual std::unique_ptr<Sink> another() = 0;
  virtual std::string document(const std::string& key) = 0;
  virtual std::size_t documents() = 0;
  // Somebody else writes a document there.
  virtual void put(const std::string& json) = 0;
};

struct SinkRigFactory {
  std::string name;  // letters and digits
  std::function<std::unique_ptr<SinkRig>()> make;
};

inline void PrintTo(const SinkRigFactory& factory, std::ostream* out) { *out << factory.name; }

// A life of letter `n`.
inline SinkLetter life(int n, std::string value, std::uint32_t replays = 0) {
  SinkLetter out;
  StoredLetter& l = out.letter;
  l.id = "ltr_" + std::to_string(n);
  l.replays = replays;
  l.lineage = "msg_" + std::to_string(n);
  l.shelf = {"execution.tickets.dlq", "test", "execution.tickets", "worker-agents", "tickets", Reason::kExhausted};
  l.dlq = {Partition(1), Offset(n)};
  l.origin = Place{Partition(2), Offset(10 + n)};
  l.kind = Kind::kTimeout;
  l.attempts = 3;
  l.error_type = "TimeoutError";
  l.error_message = "no answer";
  l.died_at = timestamp_ms(1'700'000'000'000 + n + 1000 * std::int64_t{replays});
  l.arrived_at = l.died_at + Duration(50);
  out.published_at = l.died_at + Duration(10);
  out.payload.key = "k";
  out.payload.value = std::move(value);
  return out;
}

class SinkContract : public testing::TestWithParam<SinkRigFactory> {
 protected:
  void SetUp() override {
    rig_ = GetParam().make();
    if (!rig_->why_not().empty()) GTEST_SKIP() << rig_->why_not();
    const auto prepared = rig_->sink().prepare();
    ASSERT_TRUE(prepared) << prepared.error().message;
  }
  SinkRig& rig() { return *rig_; }

  // All of them were taken.
  void write(const std::vector<SinkLetter>& letters) { write(rig_->sink(), letters); }
  static void write(Sink& sink, const std::vector<SinkLetter>& letters) {
    const auto refused = sink.write(letters);
    ASSERT_TRUE(refused) << refused.error().message;
    EXPECT_TRUE(refused->empty()) << refused->front().why;
  }

 private:
  std::unique_ptr<SinkRig> rig_;
};

}  // namespace bartleby::contract
