// Metrics of a family beside Bartleby's own: what became of the messages of a worker, by one field of theirs.
//
// `{family}_dlq_messages_total` by reason, `{family}_ticket_retry_count` and `{family}_dlq_publish_errors_total`. The
// values of the field are listed; all others are "other", so that nobody's input makes the number of series grow. All
// are there at 0 from the start. Any thread; a lock only where a message has failed before.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/match.h"
#include "runtime/watcher.h"

namespace bartleby {

class FamilyMetrics : public Watcher {
 public:
  static constexpr std::array<std::string_view, 4> kReasons = {"max_retries_exceeded", "rejected", "malformed",
                                                               "other"};
  static constexpr std::array<std::uint32_t, 7> kBuckets = {1, 2, 3, 4, 5, 10, 20};
  static constexpr std::size_t kRefusals = 4;

  // `label` is the name of the label, `field.in` what it can be; absent: there is no label.
  FamilyMetrics(std::string family, std::string label, std::optional<Match> field);

  void begins(const std::shared_ptr<const LogRecord>&, std::uint32_t) override {}
  void ended(const std::shared_ptr<const LogRecord>& record, std::uint32_t attempt, const Decision& decision) override;
  void letter_written(const std::shared_ptr<const LogRecord>& record, const LetterFacts& facts) override;
  void letter_refused(Refusal why) override;

  struct Reading {
    std::string value;                                          // of the label
    std::array<std::uint64_t, kReasons.size()> letters{};       // by reason
    std::array<std::uint64_t, kBuckets.size() + 1> failures{};  // the last: more than all
    std::uint64_t failures_sum = 0;
  };
  const std::string& family() const { return family_; }
  const std::string& label() const { return label_; }  // empty: none
  std::vector<Reading> read() const;                   // by value; "other" is the last
  std::array<std::uint64_t, kRefusals> refused() const;

 private:
  struct Counts {
    std::array<std::atomic<std::uint64_t>, kReasons.size()> letters{};
    std::array<std::atomic<std::uint64_t>, kBuckets.size() + 1> failures{};
    std::atomic<std::uint64_t> failures_sum{0};
  };
  Counts& counts_of(const LogRecord& record);
  static void failed(Counts& counts, std::uint32_t times);

  const std::string family_, label_;
  const std::optional<Match> field_;
  std::mutex mutex_;  // of the fields
  RecordFields fields_;
  std::vector<Counts> counts_;  // by value, and the rest
  std::array<std::atomic<std::uint64_t>, kRefusals> refused_{};
};

}  // namespace bartleby
