#include "office/replay_batch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "codec/json_patch.h"
#include "codec/letter_headers.h"
#include "office/arrival.h"
#include "office/mutants.h"
#include "office/operation_row.h"
#include "office/sql.h"

namespace bartleby {
namespace {

// Of other programs that write dead letters. What they said about an earlier death is not the message's. The first
// are beginnings of names; Karafka's and Watermill's are whole names: a message may have a `source_…` of its own.
constexpr std::array<std::string_view, 4> kForeignHeaders = {"kafka_dlt-", "__connect.errors.", "__streams.errors.",
                                                             "__dlq.errors."};
constexpr std::array<std::string_view, 10> kForeignNames = {
    "source_topic",    "source_partition", "source_offset",  "source_consumer_group", "source_attempts",
    "source_trace_id", "reason_poisoned",  "topic_poisoned", "handler_poisoned",      "subscriber_poisoned"};
constexpr std::size_t kBatchBytes = std::size_t{8} << 20;

// All that a record needs, of the whole batch in one statement: asked letter by letter, the asking took most of the
// time. A letter that is gone, or whose bytes are not here, is a row too.
constexpr std::string_view kTaken =
    "SELECT i.position, i.replays, i.to_topic, p.bytes, l.size, l.id, l.lineage, l.job_partition, l.timestamp,"
    " l.died_at, s.dlq, s.consumer_group FROM operation_items i LEFT JOIN letters l ON l.seq = i.letter"
    " LEFT JOIN shelves s ON s.id = l.shelf LEFT JOIN payloads p ON p.letter = l.seq AND p.life = l.payload_life"
    " WHERE i.operation = $1 AND i.position >= $2 AND i.position < $3 AND i.result = $4 ORDER BY i.position";

bool of_a_dlq(const std::string& header) {
  if (header.starts_with(letter_header::kPrefix)) return true;
  for (const std::string_view prefix : kForeignHeaders)
    if (header.starts_with(prefix)) return true;
  return std::ranges::find(kForeignNames, header) != kForeignNames.end();
}

Result<std::optional<JsonPatch>> edit_of(const Operation& operation) {
  if (operation.settings.edit.empty()) return std::optional<JsonPatch>();
  auto patch = JsonPatch::parse(operation.settings.edit);
  if (!patch) return fail(ErrorCode::kInvalid, patch.error().message);
  return std::optional(std::move(*patch));
}

class Packing {
 public:
  Packing(ReplayBatch& batch, const OfficeKey& key, const PartitionsOf& partitions)
      : batch_(batch), key_(key), partitions_(partitions) {}

  // False: the batch is full without it.
  Result<bool> add(Rows& row, const std::optional<JsonPatch>& edit) {
    if (row.is_null(3)) return fail(ErrorCode::kInvalid, "its bytes are not here");
    bytes_ += static_cast<std::size_t>(row.integer(4));
    if (bytes_ > kBatchBytes && !batch_.records.empty()) {
      batch_.to = row.integer(0);
      return false;
    }
    auto payload = unpacked(row.view(3));
    // However often it is read it stays so: this letter is given back, and the others go.
    if (!payload) return fail(ErrorCode::kInvalid, payload.error().message);
    Record record;
    record.topic = row.is_null(2) ? "" : row.text(2);
    // A topic that has fewer partitions now keeps the order of keys only if the key decides.
    const Partition first(static_cast<std::int32_t>(row.integer(7)));
    const auto partitions = partitions_of(record.topic);
    if (!partitions) return std::unexpected(partitions.error());
    if (first.v < *partitions) record.partition = first;
    record.key = std::move(payload->key);
    record.value = std::move(payload->value);
    if (edit) {
      auto edited = record.value ? edit->apply(*record.value) : fail(ErrorCode::kInvalid, "it has no value");
      if (!edited) return fail(ErrorCode::kInvalid, "the edit does not apply: " + edited.error().message);
      record.value = std::move(*edited);
    }
    for (auto& one : payload->headers)
      if (!of_a_dlq(one.first)) record.headers.push_back(std::move(one));
    record.headers.emplace_back(std::string(kReplayHeader),
                                replay_header(mark_of(row), key_, record.topic, record.value));
    ++batch_.dlqs[row.text(10)];
    batch_.positions.push_back(row.integer(0));
    batch_.records.push_back(std::move(record));
    return true;
  }

 private:
  ReplayMark mark_of(Rows& row) const {
    return {batch_.operation, row.text(5),
            row.text(6),      static_cast<std::uint32_t>(row.integer(1)) + 1,
            row.text(11),     timestamp_ms(row.integer(row.is_null(8) ? 9 : 8))};
  }

  Result<std::int32_t> partitions_of(const std::string& topic) {
    const auto known = asked_.find(topic);
    return known != asked_.end() ? known->second : asked_.emplace(topic, partitions_(topic)).first->second;
  }

  ReplayBatch& batch_;
  const OfficeKey& key_;
  const PartitionsOf& partitions_;
  std::map<std::string, Result<std::int32_t>> asked_;
  std::size_t bytes_ = 0;
};

}  // namespace

Result<ReplayBatch> replay_batch(Store& store, std::int64_t seq, std::int64_t from, std::int64_t to,
                                 const OfficeKey& key, const PartitionsOf& partitions) {
  ReplayBatch batch;
  const auto read = store.read([&](Connection& connection) -> Result<void> {
    const auto operation = operation_by_number(connection, seq);
    if (!operation) return std::unexpected(operation.error());
    if (!*operation) return fail(ErrorCode::kNotFound, "there is no such operation");
    if ((*operation)->state != OperationState::kRunning && !office_mutant(OfficeMutant::kSentThoughStopped))
      return fail(ErrorCode::kUnavailable, "the operation does not run any more; it is looked at again");
    const auto edit = edit_of(**operation);
    if (!edit) return std::unexpected(edit.error());
    batch = {(*operation)->id, to, {}, {}, {}};
    const auto statement = connection.statement(kTaken);
    if (!statement) return std::unexpected(statement.error());
    Rows rows(**statement);
    rows << seq << from << to << static_cast<int>(ItemResult::kUnknown);
    for (Packing packing(batch, key, partitions);;) {
      const auto stepped = rows.next();
      if (!stepped) return std::unexpected(stepped.error());
      if (!*stepped) return {};
      const auto added = packing.add(rows, *edit);
      if (!added) return std::unexpected(added.error());
      if (!*added) return {};
    }
  });
  if (!read) return std::unexpected(read.error());
  return batch;
}

}  // namespace bartleby
