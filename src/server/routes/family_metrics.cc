#include "server/routes/family_metrics.h"

#include <map>

#include "runtime/family_metrics.h"

namespace bartleby {
namespace {

using Key = std::pair<std::string, std::string>;  // label and value

struct Sum {
  std::map<Key, FamilyMetrics::Reading> by_label;
  std::array<std::uint64_t, FamilyMetrics::kRefusals> refused{};
};

MetricsText::Labels labels_of(const Key& key) {
  return key.first.empty() ? MetricsText::Labels() : MetricsText::Labels{{key.first, key.second}};
}

void add(Sum& sum, const FamilyMetrics& metrics) {
  for (const FamilyMetrics::Reading& one : metrics.read()) {
    FamilyMetrics::Reading& all = sum.by_label[{metrics.label(), one.value}];
    for (std::size_t i = 0; i < one.letters.size(); ++i) all.letters[i] += one.letters[i];
    for (std::size_t i = 0; i < one.failures.size(); ++i) all.failures[i] += one.failures[i];
    all.failures_sum += one.failures_sum;
  }
  const auto refused = metrics.refused();
  for (std::size_t i = 0; i < refused.size(); ++i) sum.refused[i] += refused[i];
}

void histogram(MetricsText& out, MetricsText::Labels labels, const FamilyMetrics::Reading& reading) {
  std::uint64_t total = 0;
  labels.emplace_back("le", "");
  for (std::size_t i = 0; i < reading.failures.size(); ++i) {
    total += reading.failures[i];
    labels.back().second = i < FamilyMetrics::kBuckets.size() ? std::to_string(FamilyMetrics::kBuckets[i]) : "+Inf";
    out.sample(labels, static_cast<double>(total), "_bucket");
  }
  labels.pop_back();
  out.sample(labels, static_cast<double>(reading.failures_sum), "_sum");
  out.sample(labels, static_cast<double>(total), "_count");
}

void write(MetricsText& out, const std::string& family, const Sum& sum) {
  out.family(family + "_dlq_messages_total", "counter", "Letters written, by reason");
  for (const auto& [key, reading] : sum.by_label)
    for (std::size_t i = 0; i < FamilyMetrics::kReasons.size(); ++i) {
      MetricsText::Labels labels = labels_of(key);
      labels.emplace_back("reason", std::string(FamilyMetrics::kReasons[i]));
      out.sample(labels, static_cast<double>(reading.letters[i]));
    }
  out.family(family + "_ticket_retry_count", "histogram",
             "Failed attempts of messages that ended: of letters, and of those that succeeded after a failure");
  for (const auto& [key, reading] : sum.by_label) histogram(out, labels_of(key), reading);
  out.family(family + "_dlq_publish_errors_total", "counter", "Letters that the broker would not take; tried again");
  for (std::size_t i = 0; i < sum.refused.size(); ++i)
    out.sample({{"error_type", std::string(error_type(static_cast<Refusal>(i)))}}, static_cast<double>(sum.refused[i]));
}

}  // namespace

void family_metrics(MetricsText& out, const Services& services) {
  std::map<std::string, Sum> sums;
  for (const auto& metrics : services.families()) add(sums[metrics->family()], *metrics);
  for (const auto& [family, sum] : sums) write(out, family, sum);
}

}  // namespace bartleby
