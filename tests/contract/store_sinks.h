// The fixture of the tests of sinks' queues, with a sink in memory that fails and refuses as it is told to.
// The tests are in store_sinks_test.cc; a rig registers its store with INSTANTIATE_TEST_SUITE_P.
#pragma once

#include <set>

#include "office/sink_runner.h"
#include "tests/contract/store_contract.h"

namespace bartleby::contract {

class PlayedSink : public Sink {
 public:
  Result<void> prepare() override {
    ++prepared;
    if (away) return fail(ErrorCode::kUnavailable, "nobody there");
    return {};
  }
  Result<std::vector<RefusedLetter>> write(std::span<const SinkLetter> letters) override {
    ++calls;
    if (away) return fail(ErrorCode::kUnavailable, "nobody there");
    if (letters.size() > in_time) return fail(ErrorCode::kUnavailable, "no answer in time");
    std::vector<RefusedLetter> refused;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      if (refuses.contains(letters[i].letter.id)) {
        refused.push_back({i, "not like this"});
        continue;
      }
      lives.push_back(letters[i]);
    }
    if (answer_is_lost) return fail(ErrorCode::kUnavailable, "no answer");
    return refused;
  }

  // Letter and life of each, in the order of writing.
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const SinkLetter& one : lives) out.push_back(one.letter.id + "/" + std::to_string(one.letter.replays));
    return out;
  }

  bool away = false, answer_is_lost = false;
  std::size_t in_time = SIZE_MAX;  // letters that it can write before the caller gives up
  std::set<std::string> refuses;
  int prepared = 0, calls = 0;
  std::vector<SinkLetter> lives;
};

class WoundClock : public Clock {
 public:
  Now now() const override { return now_; }
  std::chrono::microseconds real(Duration) const override { return std::chrono::microseconds(0); }
  void pass(Duration time) {
    now_.steady += time;
    now_.wall += time;
  }

 private:
  Now now_{Instant(Duration(1000)), timestamp_ms(1'800'000'000'000)};
};

class StoreSinks : public StoreContract {
 protected:
  // Takes letters in as the office does, with a sink for `orders.dlq`.
  void take(std::vector<Arrival> letters, const std::string& dlq = "orders.dlq") {
    TakeIn desk(store(), "test", [this](const std::string& of) { return sinks_of(of); });
    ASSERT_TRUE(desk.know_dlq(dlq, DlqClass::kNormal, now_));
    const TopicPartition tp{dlq, Partition(0)};
    const auto before = desk.position(tp);
    Offset at = *before ? (*before)->done_to : Offset(0);
    for (Arrival& one : letters) {
      one.letter.shelf.dlq = dlq;
      one.letter.dlq = {Partition(0), at};
      at = next(at);
    }
    const auto report = desk.store({tp, *before, {at, at}, 0, std::move(letters)}, now_);
    ASSERT_TRUE(report) << report.error().message;
  }
  std::vector<std::string> sinks_of(const std::string& dlq) const {
    return configured_ && dlq == "orders.dlq" ? std::vector<std::string>{"forensics"} : std::vector<std::string>();
  }
  std::unique_ptr<SinkRunner> runner(std::size_t letters = 200) {
    SinkOptions options;
    options.name = "forensics";
    options.letters = letters;
    options.sinks_of = [this](const std::string& dlq) { return sinks_of(dlq); };
    return std::make_unique<SinkRunner>(sink_, store(), log_, clock_, std::move(options));
  }
  // Until there is nothing more to do at once.
  static void run(SinkRunner& runner) {
    for (int i = 0; i < 100 && runner.round(); ++i) {
    }
  }
  SinkBacklog backlog() {
    const auto made = runner();
    const auto status = made->status();
    EXPECT_TRUE(status);
    return status ? status->backlog : SinkBacklog{};
  }

  bool configured_ = true;
  PlayedSink sink_;
  WoundClock clock_;
  std::string logged_;
  Log log_{LogFormat::kText, LogLevel::kInfo, [this](std::string_view line) { logged_ += line; }};
};

}  // namespace bartleby::contract
