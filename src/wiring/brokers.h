// The brokers of a process, made from the configuration.
//
// `open_broker` reaches nobody: a Kafka that is away is trouble of the workers, who try again. It fails when the
// embedded log cannot be opened, when librdkafka does not take a property, and when the program was built without
// Kafka.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "ports/broker.h"
#include "wiring/config.h"

namespace bartleby {

// `workers`: of the process; those of other brokers do not count.
Result<std::unique_ptr<Broker>> open_broker(const BrokerConfig& config, const std::vector<WorkerConfig>& workers,
                                            const std::string& data_dir, const Clock& clock, Log& log);

}  // namespace bartleby
