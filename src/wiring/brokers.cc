#include "wiring/brokers.h"

#include "adapters/broker/embedded/embedded_broker.h"
#ifdef BARTLEBY_HAS_KAFKA
#include "adapters/broker/kafka/kafka_broker.h"
#endif

namespace bartleby {
namespace {

#ifdef BARTLEBY_HAS_KAFKA
Result<std::unique_ptr<Broker>> open_kafka(const BrokerConfig& config, Log& log) {
  kafka::Options options;
  options.bootstrap = config.kafka->bootstrap;
  options.consumer_protocol = config.kafka->consumer_protocol;
  options.properties = config.kafka->properties;
  options.log = [&log, name = config.name](int level, std::string_view text) {
    if (level <= 3)
      log.error("kafka_client", {{"broker", name}, {"text", text}});
    else if (level <= 5)
      log.warning("kafka_client", {{"broker", name}, {"text", text}});
  };
  auto opened = kafka::KafkaBroker::open(std::move(options));
  if (!opened) return fail(opened.error().code, "brokers." + config.name + ": " + opened.error().message);
  return std::unique_ptr<Broker>(std::move(*opened));
}
#else
Result<std::unique_ptr<Broker>> open_kafka(const BrokerConfig& config, Log&) {
  return fail(
      ErrorCode::kUnsupported,
      "brokers." + config.name + ": this program was built without Kafka; scripts/setup test, then build again");
}
#endif

}  // namespace

Result<std::unique_ptr<Broker>> open_broker(const BrokerConfig& config, const std::string& data_dir, const Clock& clock,
                                            Log& log) {
  if (config.kafka) return open_kafka(config, log);
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
