// The office's part of the metrics: letters, issues, intake, dead jobs. From counters and indexes: no list is walked.

#include "server/routes/office_metrics.h"

#include "office/dlq_view.h"
#include "office/issue_facts.h"
#include "office/operation_row.h"

namespace bartleby {
namespace {

double count(std::int64_t n) { return static_cast<double>(n); }

void dlqs(MetricsText& out, const std::vector<DlqView>& dlqs, const News& news) {
  out.family("bartleby_letters", "gauge", "Letters by dlq and state");
  for (const DlqView& dlq : dlqs)
    for (std::size_t s = 0; s < kLetterStates; ++s)
      out.sample({{"dlq", dlq.state.name},
                  {"class", std::string(name(dlq.state.dlq_class))},
                  {"state", std::string(kLetterStateNames[s])}},
                 count(dlq.state.letters[s]));
  out.family("bartleby_oldest_open_letter_timestamp_seconds", "gauge",
             "Death of the oldest open letter; none where none is open");
  for (const DlqView& dlq : dlqs)
    if (dlq.state.oldest) out.sample({{"dlq", dlq.state.name}}, count(ms(*dlq.state.oldest)) / 1000);
  out.family("bartleby_intake_lag", "gauge", "Records of the dlq that are not taken in yet");
  for (const DlqView& dlq : dlqs) out.sample({{"dlq", dlq.state.name}}, count(dlq.lag));
  out.family("bartleby_letters_expiring", "gauge",
             "Records of the dlq that its retention deletes within 24 h and that are not taken in yet");
  for (const DlqView& dlq : dlqs) out.sample({{"dlq", dlq.state.name}}, count(dlq.expiring));
  const auto taken = news.taken_in();
  out.family("bartleby_letters_taken_in_total", "counter", "Letters, later lives included, that were taken in");
  for (const DlqView& dlq : dlqs) {
    const auto found = taken.find(dlq.state.name);
    const News::Taken n = found == taken.end() ? News::Taken{} : found->second;
    out.sample({{"dlq", dlq.state.name}}, static_cast<double>(n.stored + n.came_back));
  }
}

void replayed(MetricsText& out, const std::vector<DlqView>& dlqs, const OperationCounts& counts) {
  out.family("worker_dlq_replayed_total", "counter", "Letters sent again");
  for (const DlqView& dlq : dlqs) {
    const auto found = counts.replayed.find(dlq.state.name);
    out.sample({{"topic", dlq.state.name}}, found == counts.replayed.end() ? 0 : static_cast<double>(found->second));
  }
}

void operations(MetricsText& out, const OperationsByState* there, const OperationCounts& counts) {
  out.family("bartleby_operations", "gauge", "Operations by kind and state");
  if (there != nullptr)
    for (std::size_t k = 0; k < there->size(); ++k)
      for (std::size_t s = 0; s < (*there)[k].size(); ++s)
        out.sample({{"kind", std::string(kOperationKindNames[k])}, {"state", std::string(kOperationStateNames[s])}},
                   count((*there)[k][s]));
  out.family("bartleby_operation_letters_total", "counter",
             "Letters that operations dealt with, by what became of them");
  for (std::size_t k = 0; k < counts.letters.size(); ++k)
    for (const ItemResult result :
         {ItemResult::kSent, ItemResult::kSucceeded, ItemResult::kCameBack, ItemResult::kSkipped})
      out.sample({{"kind", std::string(kOperationKindNames[k])}, {"result", std::string(name(result))}},
                 static_cast<double>(counts.letters[k][static_cast<std::size_t>(result)]));
}

void sinks(MetricsText& out, const std::vector<SinkStatus>& sinks) {
  out.family("bartleby_sink_errors_total", "counter", "Calls of a sink that failed, and letters that it refused");
  for (const SinkStatus& sink : sinks) out.sample({{"sink", sink.name}}, static_cast<double>(sink.errors));
  out.family("bartleby_sink_written_total", "counter", "Letters, later lives included, that a sink acknowledged");
  for (const SinkStatus& sink : sinks) out.sample({{"sink", sink.name}}, static_cast<double>(sink.written));
  out.family("bartleby_sink_lag", "gauge", "Letters that a sink does not have yet");
  for (const SinkStatus& sink : sinks) out.sample({{"sink", sink.name}}, count(sink.backlog.waiting));
  out.family("bartleby_sink_refused", "gauge", "Letters that a sink does not take as they are; tried again");
  for (const SinkStatus& sink : sinks) out.sample({{"sink", sink.name}}, count(sink.backlog.refused));
}

}  // namespace

void office_metrics(MetricsText& out, const Services& services) {
  std::vector<DlqView> views;
  if (auto found = dlq_views(*services.store, *services.broker, services.clock->now().wall)) views = std::move(*found);
  IssueCounts issues{};
  std::vector<ConsumerStatus> consumers;
  OperationsByState operations_there{};
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    const auto counts = issue_counts(connection);
    if (!counts) return std::unexpected(counts.error());
    issues = *counts;
    auto status = dlq_status(connection);
    if (!status) return std::unexpected(status.error());
    consumers = std::move(*status);
    const auto by_state = operation_counts(connection);
    if (!by_state) return std::unexpected(by_state.error());
    operations_there = *by_state;
    return {};
  });
  out.family("bartleby_store_up", "gauge", "1 while the office's store takes writes and answers");
  out.sample({}, services.store_check->ask().failure ? 0 : 1);
  dlqs(out, views, *services.news);
  out.family("bartleby_issues", "gauge", "Issues by state");
  if (read)  // a store that does not answer has no figures, not zeros
    for (std::size_t s = 0; s < issues.size(); ++s)
      out.sample({{"state", std::string(kIssueStateNames[s])}}, count(issues[s]));
  const OperationCounts counts = services.runner->counts();
  replayed(out, views, counts);
  sinks(out, services.sinks());
  operations(out, read ? &operations_there : nullptr, counts);
  out.family("bartleby_summary_drift_total", "counter", "Counters that differed from the letters and were put right");
  out.sample({}, static_cast<double>(services.news->drift()));
  out.family("bartleby_alert_push_errors_total", "counter",
             "Pushes of alerts that failed, by destination; tried again");
  const auto errors = services.alerts->errors();
  for (const char* to : {"alertmanager", "log"}) {
    const auto found = errors.find(to);
    out.sample({{"to", to}}, found == errors.end() ? 0 : static_cast<double>(found->second));
  }
  out.family("dead_job_count", "gauge", "Number of dead jobs per consumer");
  for (const ConsumerStatus& one : consumers)
    out.sample({{"channel", one.channel_id}, {"consumer", one.consumer_id}}, count(one.dead_count));
}

}  // namespace bartleby
