#include "wiring/office.h"

#include "adapters/store/sqlite/sqlite_store.h"

namespace bartleby {

bool looks_like_dlq(std::string_view topic) {
  return topic.ends_with(".dlq") || topic.ends_with(".DLT") || topic.ends_with("-dlt") || topic.starts_with("dlq.");
}

Result<std::unique_ptr<Office>> Office::start(const Config& config, Broker& broker, const Clock& clock, Log& log) {
  auto store = sqlite_store::SqliteStore::open({.folder = config.data_dir});
  if (!store) return std::unexpected(store.error());
  std::unique_ptr<Office> office(new Office(std::move(*store)));
  office->follow(config);
  IntakeOptions options;
  options.cluster = config.cluster_id;
  options.dlq_class = [self = office.get()](const std::string& topic) {
    return self->is_dlq(topic) ? std::optional(DlqClass::kNormal) : std::nullopt;
  };
  office->intake_ = std::make_unique<IntakeRunner>(
      broker, *office->store_, log, clock, std::move(options),
      [self = office.get()](const std::string& dlq, const IntakeReport& report) { self->news_.heard(dlq, report); });
  office->intake_->start();
  office->chores_ = std::make_unique<Chores>(*office->store_, office->news_, log, clock, config.advertise);
  office->chores_->start();
  return office;
}

void Office::follow(const Config& config) {
  std::set<std::string> dlqs;
  for (const WorkerConfig& worker : config.workers)
    for (const std::string& topic : worker.topics) dlqs.insert(worker.dead_letters_of(topic, config.cluster_id));
  const std::lock_guard lock(mutex_);
  dlqs_.merge(dlqs);  // those of a worker that was removed still hold its letters
}

bool Office::is_dlq(const std::string& topic) const {
  if (looks_like_dlq(topic)) return true;
  const std::lock_guard lock(mutex_);
  return dlqs_.contains(topic);
}

}  // namespace bartleby
