// The fixture of operations under the store contract: a store, a simulated broker, and people who plan and start.
//
// Time is wound by hand. `DyingStore` and `DyingBroker` let a test end the process before and after every write.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codec/replay_header.h"
#include "office/operation_runner.h"
#include "office/operations.h"
#include "office/outcomes.h"
#include "tests/contract/store_contract.h"
#include "tests/sim/sim_cluster.h"

namespace bartleby::contract {

inline const OfficeKey kKey{"o1", "0123456789abcdef0123456789abcdef"};
inline const Actor kAnn{"ann", "mended", "r1"};

class HandClock : public Clock {
 public:
  Now now() const override { return {Instant(passed), timestamp_ms(1'800'000'000'000) + passed}; }
  std::chrono::microseconds real(Duration) const override { return {}; }
  Duration passed{0};
};

struct Crash {};

// Passes everything on; a write may end the process before or after it.
class DyingBroker : public Broker {
 public:
  explicit DyingBroker(Broker& inside) : inside_(inside) {}
  std::function<void(bool after)> at_write = [](bool) {};
  std::optional<Error> describes_with;  // instead of an answer
  int cursors_asked_for = 0;

  Result<std::unique_ptr<Member>> join(const GroupSpec& spec) override { return inside_.join(spec); }
  Result<std::vector<TopicSpec>> ensure_topics(const std::vector<TopicSpec>& wanted) override {
    return inside_.ensure_topics(wanted);
  }
  Result<TopicSpec> describe(const std::string& topic) override {
    if (describes_with) return std::unexpected(*describes_with);
    return inside_.describe(topic);
  }
  Result<std::vector<CommittedOffset>> group_offsets(const std::string& group,
                                                     const std::vector<std::string>& topics) override {
    ++cursors_asked_for;
    return inside_.group_offsets(group, topics);
  }
  Result<void> commit_first(const std::string& group, const std::vector<CommittedOffset>& offsets) override {
    return inside_.commit_first(group, offsets);
  }
  Result<std::pair<Offset, Offset>> log_range(const TopicPartition& tp) override { return inside_.log_range(tp); }
  Result<std::vector<Written>> produce(const std::vector<Record>& records) override { return inside_.produce(records); }
  Result<std::vector<Written>> produce_with(const std::vector<Record>& records, const Cursor& cursor) override {
    at_write(false);
    auto written = inside_.produce_with(records, cursor);
    at_write(true);
    return written;
  }
  Result<std::vector<TopicSpec>> topics() override { return inside_.topics(); }
  Result<std::vector<LogRecord>> read(const TopicPartition& tp, Offset from, std::size_t records,
                                      std::size_t bytes) override {
    return inside_.read(tp, from, records, bytes);
  }

 private:
  Broker& inside_;
};

// A store whose transactions may end the process before they begin, or after they are durable.
class DyingStore : public Store {
 public:
  explicit DyingStore(Store& inside) : inside_(inside) {}
  std::function<void(bool after)> at_write = [](bool) {};

  Result<void> write(const Work& work) override {
    at_write(false);
    auto done = inside_.write(work);
    at_write(true);
    return done;
  }
  Result<void> read(const Work& work) override { return inside_.read(work); }

 private:
  Store& inside_;
};

class StoreOperations : public StoreContract {
 protected:
  void SetUp() override {
    StoreContract::SetUp();
    ensure("orders", 2);
  }

  void ensure(const std::string& name, std::int32_t partitions, std::size_t max_message = 1 << 20) {
    TopicSpec topic;
    topic.name = name;
    topic.partitions = partitions;
    topic.max_message = max_message;
    ASSERT_TRUE(cluster_.ensure_topics({topic}));
  }

  Operations operations() { return Operations(store(), clock_, options()); }
  OperationsOptions options() {
    OperationsOptions o;
    o.readers = [this](const std::string& topic) { return readers_[topic]; };
    o.new_id = [this] { return "op_" + std::to_string(++ids_); };
    return o;
  }
  static OperationRequest request(OperationKind kind, std::string_view query = "") {
    OperationRequest r;
    r.kind = kind;
    r.query = parsed(query);
    r.settings.rate = 0;
    r.settings.canary = 0;
    return r;
  }
  static OperationRequest of_ids(std::vector<std::string> which) {
    OperationRequest r = request(OperationKind::kReplay);
    r.query.reset();
    r.ids = std::move(which);
    return r;
  }
  Operation plan(const OperationRequest& r) {
    auto planned = operations().plan(r, kAnn);
    EXPECT_TRUE(planned) << planned.error().message;
    return planned ? *planned : Operation{};
  }
  Operation started(const OperationRequest& r) {
    const Operation planned = plan(r);
    const auto changed = operations().start(planned.id, kAnn);
    EXPECT_TRUE(changed && changed->result == OperationChange::kDone);
    return planned;
  }
  Operation run(const Operation& operation) {
    OperationRunner runner(cluster_, store(), log_, clock_, {.key = kKey});
    runner.run_until_idle();
    return *operations().get(operation.id).value();
  }
  // What lies in a topic, as the marks of its replays.
  std::vector<std::pair<ReplayMark, LogRecord>> replays_in(const std::string& topic) {
    std::vector<std::pair<ReplayMark, LogRecord>> found;
    for (std::int32_t p = 0; p < cluster_.describe(topic)->partitions; ++p) {
      const auto records = cluster_.read({topic, Partition(p)}, Offset(0), 100000, 1 << 30).value();
      for (const LogRecord& record : records) {
        const auto mark = replay_mark(record, {kKey}, topic);
        EXPECT_TRUE(mark) << "not signed";
        if (mark) found.emplace_back(*mark, record);
      }
    }
    return found;
  }
  void answer(const ReplayMark& mark, Verdict verdict) {
    const std::string value = outcome_value({mark.letter, mark.replays, verdict, now_});
    ASSERT_TRUE(cluster_.produce({{kOutcomesTopic, std::nullopt, mark.letter, value, {}}}));
  }
  // What the worker says of everything that was sent to `orders` since the last call.
  void answer_all(Verdict verdict) {
    const auto sent = replays_in("orders");
    for (; answered_ < sent.size(); ++answered_) answer(sent[answered_].first, verdict);
    const auto taken = take_outcomes(store(), cluster_, 1000, now_);
    ASSERT_TRUE(taken) << taken.error().message;
    clock_.passed += Duration(1000);
  }
  void letters(std::int64_t count) {
    std::vector<Arrival> all;
    for (std::int64_t n = 0; n < count; ++n) all.push_back(letter(n));
    take_in(std::move(all));
  }

  sim::Scheduler scheduler_{1};
  sim::SimCluster cluster_{scheduler_};
  HandClock clock_;
  Log log_{LogFormat::kText, LogLevel::kError};
  std::map<std::string, std::vector<Reader>> readers_{{"orders", {{"billing", "orders.replay.billing"}}}};
  int ids_ = 0;
  std::size_t answered_ = 0;
};

}  // namespace bartleby::contract
