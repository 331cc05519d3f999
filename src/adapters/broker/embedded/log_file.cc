#include "adapters/broker/embedded/log_file.h"

#include <sqlite3.h>

#include <algorithm>

#include "codec/header_bytes.h"

namespace bartleby::embedded {
namespace {

constexpr std::int64_t kApplicationId = 0x42617274;  // "Bart": `file log.db` shows it

constexpr const char* kSchema = R"(
CREATE TABLE topics(
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, compacted INTEGER NOT NULL,
  retention_ms INTEGER, retention_bytes INTEGER, max_message INTEGER NOT NULL) STRICT;
CREATE TABLE partitions(
  id INTEGER PRIMARY KEY, topic INTEGER NOT NULL REFERENCES topics(id), number INTEGER NOT NULL,
  log_start INTEGER NOT NULL DEFAULT 0, log_end INTEGER NOT NULL DEFAULT 0, last_timestamp INTEGER NOT NULL DEFAULT 0,
  counted_to INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, cleaned_to INTEGER NOT NULL DEFAULT 0,
  UNIQUE(topic, number)) STRICT;
CREATE TABLE records(
  position INTEGER PRIMARY KEY, timestamp INTEGER NOT NULL, key BLOB, value BLOB, headers BLOB) STRICT;
CREATE TABLE offsets(
  consumer_group TEXT NOT NULL, partition INTEGER NOT NULL REFERENCES partitions(id), committed INTEGER NOT NULL,
  metadata TEXT NOT NULL, PRIMARY KEY(consumer_group, partition)) STRICT, WITHOUT ROWID;
CREATE TABLE touched(id INTEGER PRIMARY KEY, times INTEGER NOT NULL) STRICT;
CREATE VIEW log AS
  SELECT topics.name AS topic, partitions.number AS partition, records.position & 8796093022207 AS "offset",
         strftime('%Y-%m-%dT%H:%M:%fZ', records.timestamp / 1000.0, 'unixepoch') AS time,
         CAST(records.key AS TEXT) AS key, CAST(records.value AS TEXT) AS value, hex(records.headers) AS headers
  FROM records JOIN partitions ON partitions.id = records.position >> 43 JOIN topics ON topics.id = partitions.topic;
)";

constexpr const char* kRowColumns =
    "SELECT position, timestamp,"
    " coalesce(length(key), 0) + coalesce(length(value), 0) + coalesce(length(headers), 0), value IS NULL";

}  // namespace

Result<LogFile> LogFile::open(const std::string& path, std::int64_t max_pages) {
  auto opened = sqlite::Database::open(path, sqlite::Open::kReadWrite);
  if (!opened) return std::unexpected(opened.error());
  LogFile file;
  file.db_ = std::move(*opened);
  const auto version = file.db_.number("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  const auto application = file.db_.number("PRAGMA application_id");
  if (!application) return std::unexpected(application.error());
  const auto tables = file.db_.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return std::unexpected(tables.error());
  if (*tables > 0 && *application != kApplicationId)
    return fail(ErrorCode::kUnsupported, path + ": a database of another program");
  if (*version > kSchemaVersion)
    return fail(ErrorCode::kUnsupported, path + ": written by a newer version (format " + std::to_string(*version) +
                                             "; this one knows " + std::to_string(kSchemaVersion) + ")");
  // The writer checkpoints by itself, between transactions.
  std::string settings =
      "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;"
      "PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864;";
  if (max_pages > 0) settings += "PRAGMA max_page_count=" + std::to_string(max_pages) + ";";
  if (auto set = file.db_.exec(settings); !set) return std::unexpected(set.error());
  if (*tables == 0)
    if (auto made = file.create(); !made) return std::unexpected(made.error());
  if (auto ready = file.prepare(); !ready) return std::unexpected(ready.error());
  return file;
}

Result<void> LogFile::create() {
  auto made =
      db_.exec("BEGIN IMMEDIATE;" + std::string(kSchema) + "PRAGMA application_id=" + std::to_string(kApplicationId) +
               ";PRAGMA user_version=" + std::to_string(kSchemaVersion) + ";COMMIT");
  if (!made) db_.rollback();
  return made;
}

Result<void> LogFile::prepare() {
  const std::pair<sqlite::Statement*, std::string> all[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&append_, "INSERT INTO records(position, timestamp, key, value, headers) VALUES(?,?,?,?,?)"},
      {&set_offset_,
       "INSERT INTO offsets(consumer_group, partition, committed, metadata) VALUES(?,?,?,?)"
       " ON CONFLICT DO UPDATE SET committed = excluded.committed, metadata = excluded.metadata"},
      {&add_topic_,
       "INSERT INTO topics(name, compacted, retention_ms, retention_bytes, max_message) VALUES(?,?,?,?,?)"},
      {&add_partition_, "INSERT INTO partitions(topic, number) VALUES(?,?)"},
      {&save_,
       "UPDATE partitions SET log_start=?2, log_end=?3, last_timestamp=?4, counted_to=?5, bytes=?6, cleaned_to=?7"
       " WHERE id=?1"},
      {&erase_, "DELETE FROM records WHERE position >= ? AND position < ?"},
      {&touch_, "INSERT INTO touched VALUES(1, 1) ON CONFLICT DO UPDATE SET times = times + 1"},
      {&rows_,
       std::string(kRowColumns) + " FROM records WHERE position >= ? AND position < ? ORDER BY position LIMIT ?"},
      {&keys_,
       std::string(kRowColumns) + ", key FROM records WHERE position >= ? AND position < ? ORDER BY position LIMIT ?"}};
  for (const auto& [statement, sql] : all) {
    auto made = db_.prepare(sql);
    if (!made) return std::unexpected(made.error());
    *statement = std::move(*made);
  }
  return {};
}

// ---- What is there -----------------------------------------------------------------------------------

Result<std::vector<StoredTopic>> LogFile::topics() {
  std::vector<StoredTopic> found;
  auto topics = db_.prepare("SELECT id, name, compacted, retention_ms, retention_bytes, max_message FROM topics");
  auto partitions = db_.prepare(
      "SELECT id, log_start, log_end, last_timestamp, counted_to, bytes, cleaned_to,"
      " (SELECT max(position) FROM records WHERE position >= partitions.id << 43 AND position < (partitions.id+1) << "
      "43)"
      " FROM partitions WHERE topic = ? ORDER BY number");
  auto uncounted = db_.prepare(
      "SELECT coalesce(sum(coalesce(length(key), 0) + coalesce(length(value), 0) + coalesce(length(headers), 0)), 0)"
      " FROM records WHERE position >= ? AND position < ?");
  auto newest = db_.prepare("SELECT timestamp FROM records WHERE position = ?");
  for (auto* asked : {&topics, &partitions, &uncounted, &newest})
    if (!*asked) return std::unexpected(asked->error());
  for (;;) {
    const auto stepped = topics->step();
    if (!stepped) return std::unexpected(stepped.error());
    if (*stepped == sqlite::Step::kDone) break;
    StoredTopic topic;
    topic.id = topics->integer(0);
    topic.spec.name = std::string(topics->bytes(1));
    topic.spec.compacted = topics->integer(2) != 0;
    if (!topics->is_null(3)) topic.spec.retention = Duration(topics->integer(3));
    if (!topics->is_null(4)) topic.spec.retention_bytes = static_cast<std::uint64_t>(topics->integer(4));
    topic.spec.max_message = static_cast<std::size_t>(topics->integer(5));
    partitions->bind(1, topic.id);
    for (;;) {
      const auto next_one = partitions->step();
      if (!next_one) return std::unexpected(next_one.error());
      if (*next_one == sqlite::Step::kDone) break;
      StoredPartition p{.id = partitions->integer(0),
                        .start = Offset(partitions->integer(1)),
                        .end = Offset(partitions->integer(2)),
                        .last = timestamp_ms(partitions->integer(3)),
                        .counted_to = Offset(partitions->integer(4)),
                        .bytes = static_cast<std::uint64_t>(partitions->integer(5)),
                        .cleaned_to = Offset(partitions->integer(6))};
      if (!partitions->is_null(7)) {
        const std::int64_t last = partitions->integer(7);
        p.end = std::max(p.end, next(offset_of(last)));
        newest->bind(1, last);
        const sqlite::Reading reading(*newest);
        if (auto row = newest->step(); !row) return std::unexpected(row.error());
        p.last = std::max(p.last, timestamp_ms(newest->integer(0)));
      }
      if (topic.spec.retention_bytes && p.counted_to < p.end) {
        uncounted->bind(1, position_of(p.id, p.counted_to));
        uncounted->bind(2, position_of(p.id, p.end));
        const sqlite::Reading reading(*uncounted);
        if (auto row = uncounted->step(); !row) return std::unexpected(row.error());
        p.bytes += static_cast<std::uint64_t>(uncounted->integer(0));
        p.counted_to = p.end;
      }
      topic.partitions.push_back(p);
    }
    partitions->reset();
    topic.spec.partitions = static_cast<std::int32_t>(topic.partitions.size());
    found.push_back(std::move(topic));
  }
  return found;
}

Result<std::vector<StoredOffset>> LogFile::offsets() {
  std::vector<StoredOffset> found;
  auto asked = db_.prepare("SELECT consumer_group, partition, committed, metadata FROM offsets");
  if (!asked) return std::unexpected(asked.error());
  for (;;) {
    const auto stepped = asked->step();
    if (!stepped) return std::unexpected(stepped.error());
    if (*stepped == sqlite::Step::kDone) return found;
    found.push_back(
        {std::string(asked->bytes(0)), asked->integer(1), Offset(asked->integer(2)), std::string(asked->bytes(3))});
  }
}

// ---- Writing -----------------------------------------------------------------------------------------

Result<void> LogFile::begin() { return begin_.run(); }
Result<void> LogFile::commit() { return commit_.run(); }

bool LogFile::commit_in_doubt() const { return (db_.error_code() & 0xff) == SQLITE_IOERR; }

Result<void> LogFile::append(std::int64_t position, Timestamp timestamp, const Record& record) {
  append_.bind(1, position);
  append_.bind(2, ms(timestamp));
  append_.bind_blob(3, record.key);
  append_.bind_blob(4, record.value);
  if (record.headers.empty()) {
    append_.bind_null(5);
    return append_.run();
  }
  const std::optional<std::string> headers = encode_headers(record.headers);
  append_.bind_blob(5, headers);
  return append_.run();
}

Result<void> LogFile::set_offset(const StoredOffset& offset) {
  set_offset_.bind_text(1, offset.group);
  set_offset_.bind(2, offset.partition);
  set_offset_.bind(3, offset.offset.v);
  set_offset_.bind_text(4, offset.metadata);
  return set_offset_.run();
}

Result<std::int64_t> LogFile::add_topic(const TopicSpec& spec) {
  add_topic_.bind_text(1, spec.name);
  add_topic_.bind(2, spec.compacted ? 1 : 0);
  add_topic_.bind_null(3);
  add_topic_.bind_null(4);
  if (spec.retention) add_topic_.bind(3, spec.retention->count());
  if (spec.retention_bytes) add_topic_.bind(4, static_cast<std::int64_t>(*spec.retention_bytes));
  add_topic_.bind(5, static_cast<std::int64_t>(spec.max_message));
  if (auto ran = add_topic_.run(); !ran) return std::unexpected(ran.error());
  return sqlite3_last_insert_rowid(db_.handle());
}

Result<std::int64_t> LogFile::add_partition(std::int64_t topic, std::int32_t number) {
  add_partition_.bind(1, topic);
  add_partition_.bind(2, number);
  if (auto ran = add_partition_.run(); !ran) return std::unexpected(ran.error());
  const std::int64_t id = sqlite3_last_insert_rowid(db_.handle());
  if (id > kMaxPartitions) return fail(ErrorCode::kTooLarge, "log.db has as many partitions as it can have");
  return id;
}

Result<void> LogFile::save(const StoredPartition& p) {
  save_.bind(1, p.id);
  save_.bind(2, p.start.v);
  save_.bind(3, p.end.v);
  save_.bind(4, ms(p.last));
  save_.bind(5, p.counted_to.v);
  save_.bind(6, static_cast<std::int64_t>(p.bytes));
  save_.bind(7, p.cleaned_to.v);
  return save_.run();
}

Result<void> LogFile::erase(std::int64_t partition, Offset from, Offset to) {
  erase_.bind(1, position_of(partition, from));
  erase_.bind(2, position_of(partition, to));
  return erase_.run();
}

Result<void> LogFile::touch() { return touch_.run(); }

Result<std::vector<RowSize>> LogFile::rows(std::int64_t partition, Offset from, Offset to, std::size_t limit,
                                           bool keys) {
  sqlite::Statement& asked = keys ? keys_ : rows_;
  asked.bind(1, position_of(partition, from));
  asked.bind(2, position_of(partition, to));
  asked.bind(3, static_cast<std::int64_t>(limit));
  const sqlite::Reading reading(asked);
  std::vector<RowSize> found;
  for (;;) {
    const auto stepped = asked.step();
    if (!stepped) return std::unexpected(stepped.error());
    if (*stepped == sqlite::Step::kDone) return found;
    found.push_back({offset_of(asked.integer(0)),
                     timestamp_ms(asked.integer(1)),
                     static_cast<std::size_t>(asked.integer(2)),
                     asked.integer(3) != 0,
                     {}});
    if (keys) found.back().key = asked.blob(4);
  }
}

}  // namespace bartleby::embedded
