#include "wiring/brokers.h"

#include "adapters/broker/embedded/embedded_broker.h"
#include "base/repeated_lines.h"
#ifdef BARTLEBY_HAS_KAFKA
#include "adapters/broker/kafka/kafka_broker.h"
#endif

namespace bartleby {
namespace {

#ifdef BARTLEBY_HAS_KAFKA
Result<std::unique_ptr<Broker>> open_kafka(const BrokerConfig& config, const std::vector<WorkerConfig>& workers,
                                           const Clock& clock, Log& log) {
  kafka::Options options;
  options.bootstrap = config.kafka->bootstrap;
  options.consumer_protocol = config.kafka->consumer_protocol;
  options.properties = config.kafka->properties;
  for (const WorkerConfig& worker : workers)
    if (worker.broker == config.name) options.budgets[worker.group] = worker.max_bytes;
  const auto tell = [&log, name = config.name](int level, std::string_view text, std::uint64_t left_out) {
    if (level > 5) return;
    log.write(level <= 3 ? LogLevel::kError : LogLevel::kWarning, "kafka_client",
              {{"broker", name}, {"text", text}, {"left_out", left_out}});
  };
  options.log = [tell](int level, std::string_view text) { tell(level, text, 0); };
  options.client_log = [tell, &clock, lines = std::make_shared<RepeatedLines>()](int level, std::string_view text) {
    if (const auto left_out = lines->tell(text, clock.now().steady)) tell(level, text, *left_out);
  };
  auto opened = kafka::KafkaBroker::open(std::move(options));
  if (!opened) return fail(opened.error().code, "brokers." + config.name + ": " + opened.error().message);
  return std::unique_ptr<Broker>(std::move(*opened));
}
#else
Result<std::unique_ptr<Broker>> open_kafka(const BrokerConfig& config, const std::vector<WorkerConfig>&, const Clock&,
                                           Log&) {
  return fail(
      ErrorCode::kUnsupported,
      "brokers." + config.name + ": this program was built without Kafka; scripts/setup test, then build again");
}
#endif

}  // namespace

Result<std::unique_ptr<Broker>> open_broker(const BrokerConfig& config, const std::vector<WorkerConfig>& workers,
                                            const std::string& data_dir, const Clock& clock, Log& log) {
  if (config.kafka) return open_kafka(config, workers, clock, log);
  embedded::Options options;
  options.folder = data_dir;
  options.clock = embedded::machine_clock([&clock] { return clock.now().wall; });
  options.chore_told = [&log](std::string_view chore, const Result<void>& result) {
    if (result)
      log.info("log_chore_works_again", {{"chore", chore}});
    else
      log.error("log_chore_failed", {{"chore", chore}, {"why", result.error().message}});
  };
  options.writable_told = [&log](const Result<void>& writable) {
    if (writable)
      log.info("log_writable_again");
    else
      log.error("log_not_writable", {{"why", writable.error().message}});
  };
  auto opened = embedded::EmbeddedBroker::open(std::move(options));
  if (!opened) return std::unexpected(opened.error());
  return std::unique_ptr<Broker>(std::move(*opened));
}

}  // namespace bartleby
