// The taken letters of an operation as the records that are sent: the message as it was, without headers of dead
// letter queues, and with the one that makes it a replay.
//
// Any thread; one transaction that reads. Answers with kInvalid where a letter cannot be sent, and with kUnavailable
// where the operation does not run any more: look again.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "codec/replay_header.h"
#include "model/record.h"
#include "ports/store.h"

namespace bartleby {

struct ReplayBatch {
  std::string operation;  // its id
  std::int64_t to = 0;    // letters below it are in the batch: large ones may make it shorter than asked for
  std::vector<std::int64_t> positions;
  std::vector<Record> records;
  std::map<std::string, std::uint64_t> dlqs;  // how many of them are of which
};

// How many partitions a topic has; 0: there is no such topic. An error is that of the batch.
using PartitionsOf = std::function<Result<std::int32_t>(const std::string& topic)>;

// Of the items [from, to) those that are taken. `partitions` is asked once for each topic.
Result<ReplayBatch> replay_batch(Store& store, std::int64_t seq, std::int64_t from, std::int64_t to,
                                 const OfficeKey& key, const PartitionsOf& partitions);

}  // namespace bartleby
