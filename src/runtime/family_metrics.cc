#include "runtime/family_metrics.h"

#include <algorithm>

namespace bartleby {
namespace {

std::size_t reason_of(Reason reason) {
  switch (reason) {
    case Reason::kExhausted:
      return 0;
    case Reason::kRejected:
    case Reason::kSecurity:
      return 1;
    case Reason::kMalformed:
      return 2;
    default:
      return 3;
  }
}

}  // namespace

FamilyMetrics::FamilyMetrics(std::string family, std::string label, std::optional<Match> field)
    : family_(std::move(family)),
      label_(std::move(label)),
      field_(std::move(field)),
      counts_(field_ ? field_->in.size() + 1 : 1) {}

FamilyMetrics::Counts& FamilyMetrics::counts_of(const LogRecord& record) {
  if (!field_) return counts_.back();
  const std::lock_guard lock(mutex_);
  fields_.of(record);
  const auto text = field_->field == Match::Field::kJson ? fields_.json(field_->name) : fields_.header(field_->name);
  if (!text) return counts_.back();
  const auto found = std::ranges::find(field_->in, *text);
  return counts_[static_cast<std::size_t>(found - field_->in.begin())];
}

void FamilyMetrics::failed(Counts& counts, std::uint32_t times) {
  std::size_t i = 0;
  while (i < kBuckets.size() && times > kBuckets[i]) ++i;
  counts.failures[i].fetch_add(1, std::memory_order_relaxed);
  counts.failures_sum.fetch_add(times, std::memory_order_relaxed);
}

void FamilyMetrics::ended(const std::shared_ptr<const LogRecord>& record, std::uint32_t attempt,
                          const Decision& decision) {
  if (attempt == 1 || decision.fate == Fate::kRetry || decision.fate == Fate::kReject) return;
  failed(counts_of(*record), attempt - 1);
}

void FamilyMetrics::letter_written(const std::shared_ptr<const LogRecord>& record, const LetterFacts& facts) {
  Counts& counts = counts_of(*record);
  counts.letters[reason_of(facts.reason)].fetch_add(1, std::memory_order_relaxed);
  if (facts.attempts > 0) failed(counts, facts.attempts);
}

void FamilyMetrics::letter_refused(Refusal why) {
  refused_[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
}

std::vector<FamilyMetrics::Reading> FamilyMetrics::read() const {
  std::vector<Reading> out(counts_.size());
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    out[i].value = i + 1 < counts_.size() ? field_->in[i] : "other";
    for (std::size_t r = 0; r < kReasons.size(); ++r) out[i].letters[r] = counts_[i].letters[r].load();
    for (std::size_t b = 0; b < out[i].failures.size(); ++b) out[i].failures[b] = counts_[i].failures[b].load();
    out[i].failures_sum = counts_[i].failures_sum.load();
  }
  return out;
}

std::array<std::uint64_t, FamilyMetrics::kRefusals> FamilyMetrics::refused() const {
  std::array<std::uint64_t, kRefusals> out{};
  for (std::size_t i = 0; i < kRefusals; ++i) out[i] = refused_[i].load();
  return out;
}

}  // namespace bartleby
