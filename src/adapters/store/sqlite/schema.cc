#include "adapters/store/sqlite/schema.h"

#include <array>

namespace bartleby::sqlite_store {
namespace {

// States, kinds and reasons are the numbers of src/model. Times are Unix milliseconds.
constexpr std::string_view kFirst = R"(
CREATE TABLE numbers(name TEXT PRIMARY KEY, next INTEGER NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO numbers VALUES('letter', 1), ('shelf', 1), ('issue', 1), ('operation', 1);

CREATE TABLE dlqs(
  name TEXT PRIMARY KEY, class INTEGER NOT NULL, seen_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

-- How far intake has come. Reading begins at `next`; what ended below `done_to` is stored already.
CREATE TABLE cursors(
  dlq TEXT NOT NULL, partition INTEGER NOT NULL, next INTEGER NOT NULL, done_to INTEGER NOT NULL,
  missed INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(dlq, partition)) STRICT, WITHOUT ROWID;

CREATE TABLE shelves(
  id INTEGER PRIMARY KEY, dlq TEXT NOT NULL, cluster TEXT NOT NULL, topic TEXT NOT NULL, consumer_group TEXT NOT NULL,
  worker TEXT NOT NULL, reason INTEGER NOT NULL, consumer TEXT NOT NULL,
  UNIQUE(dlq, cluster, topic, consumer_group, worker, reason)) STRICT;

CREATE TABLE letters(
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, shelf INTEGER NOT NULL, issue INTEGER NOT NULL,
  state INTEGER NOT NULL, version INTEGER NOT NULL, replays INTEGER NOT NULL, attempts INTEGER NOT NULL,
  kind INTEGER NOT NULL, lineage TEXT NOT NULL,
  dlq_partition INTEGER NOT NULL, dlq_offset INTEGER NOT NULL,
  origin_partition INTEGER, origin_offset INTEGER,
  job_partition INTEGER NOT NULL, job_offset INTEGER NOT NULL, timestamp INTEGER,
  key BLOB, key_hash INTEGER, size INTEGER NOT NULL, payload_hash BLOB NOT NULL, payload_life INTEGER NOT NULL,
  instance TEXT NOT NULL, dialect TEXT NOT NULL, error_type TEXT NOT NULL, error_message TEXT NOT NULL,
  first_failure_at INTEGER, died_at INTEGER NOT NULL, arrived_at INTEGER NOT NULL, changed_at INTEGER NOT NULL,
  undo_until INTEGER) STRICT;
CREATE INDEX letters_of_shelf ON letters(shelf, state, died_at);
CREATE INDEX letters_of_state ON letters(state, died_at);
CREATE INDEX letters_of_issue ON letters(issue, state, died_at);
CREATE INDEX letters_of_key ON letters(key_hash, died_at) WHERE key_hash IS NOT NULL;
CREATE INDEX letters_of_lineage ON letters(lineage);
CREATE INDEX letters_by_dlq_offset ON letters(dlq_offset);
CREATE INDEX letters_by_job_offset ON letters(job_offset);
CREATE INDEX letters_replayed ON letters(died_at) WHERE replays > 0;
CREATE INDEX letters_by_undo ON letters(undo_until) WHERE undo_until IS NOT NULL;

-- Bytes, once for each life that died and was taken in. The first byte of `bytes` says how it is packed.
CREATE TABLE payloads(
  letter INTEGER NOT NULL, life INTEGER NOT NULL, stack TEXT NOT NULL, bytes BLOB NOT NULL,
  PRIMARY KEY(letter, life)) STRICT;

-- Lives before the present one, as they were, and the ids of lives after the first.
CREATE TABLE lives(
  letter INTEGER NOT NULL, replays INTEGER NOT NULL, shelf INTEGER NOT NULL,
  issue INTEGER NOT NULL, attempts INTEGER NOT NULL, kind INTEGER NOT NULL,
  dlq_partition INTEGER NOT NULL, dlq_offset INTEGER NOT NULL, origin_partition INTEGER, origin_offset INTEGER,
  error_type TEXT NOT NULL, error_message TEXT NOT NULL, died_at INTEGER NOT NULL, payload_life INTEGER NOT NULL,
  PRIMARY KEY(letter, replays)) STRICT, WITHOUT ROWID;
CREATE TABLE life_ids(id TEXT PRIMARY KEY, letter INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE INDEX life_ids_of_letter ON life_ids(letter);

-- Error, key and headers as words; without a copy of the text.
CREATE VIRTUAL TABLE letters_text USING fts5(error, key, headers, content='', contentless_delete=1);

CREATE TABLE issues(
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, state INTEGER NOT NULL, version INTEGER NOT NULL,
  title TEXT NOT NULL, kind INTEGER NOT NULL, error_type TEXT NOT NULL,
  open INTEGER NOT NULL CHECK(open >= 0), total INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  state_since INTEGER NOT NULL, until INTEGER, note TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX issues_of_state ON issues(state, last);
CREATE INDEX issues_by_last ON issues(last);
CREATE INDEX issues_of_type ON issues(error_type);

CREATE TABLE issue_hours(
  issue INTEGER NOT NULL, hour INTEGER NOT NULL, letters INTEGER NOT NULL,
  PRIMARY KEY(issue, hour)) STRICT, WITHOUT ROWID;

CREATE TABLE counters(
  shelf INTEGER NOT NULL, state INTEGER NOT NULL, letters INTEGER NOT NULL CHECK(letters >= 0),
  PRIMARY KEY(shelf, state)) STRICT, WITHOUT ROWID;

CREATE TABLE dlq_summary(
  consumerId TEXT PRIMARY KEY, consumerName TEXT NOT NULL, channelId TEXT NOT NULL, channelName TEXT NOT NULL,
  dead_count INTEGER NOT NULL DEFAULT 0 CHECK(dead_count >= 0), last_checked_at INTEGER NOT NULL)
  STRICT, WITHOUT ROWID;

CREATE TABLE operations(
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, kind INTEGER NOT NULL, state INTEGER NOT NULL,
  version INTEGER NOT NULL, dlq TEXT NOT NULL, settings TEXT NOT NULL, report TEXT NOT NULL, letters INTEGER NOT NULL,
  cursor INTEGER NOT NULL DEFAULT 0, actor TEXT NOT NULL, reason TEXT NOT NULL, note TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER) STRICT;
CREATE INDEX operations_of_state ON operations(state, seq);

CREATE TABLE operation_items(
  operation INTEGER NOT NULL, position INTEGER NOT NULL, letter INTEGER NOT NULL, replays INTEGER NOT NULL,
  version INTEGER NOT NULL, result INTEGER NOT NULL, note TEXT NOT NULL DEFAULT '',
  to_topic TEXT, to_partition INTEGER, to_offset INTEGER, changed_at INTEGER NOT NULL,
  PRIMARY KEY(operation, position)) STRICT, WITHOUT ROWID;
CREATE INDEX operation_items_of_letter ON operation_items(letter);
CREATE INDEX operation_items_of_result ON operation_items(operation, result, position);

CREATE TABLE audit_log(
  seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, subject TEXT NOT NULL,
  from_state TEXT NOT NULL, to_state TEXT NOT NULL, reason TEXT NOT NULL, request_id TEXT NOT NULL,
  detail TEXT NOT NULL, hash BLOB NOT NULL) STRICT;
CREATE INDEX audit_of_subject ON audit_log(subject, seq);
CREATE TABLE audit_head(one INTEGER PRIMARY KEY CHECK(one = 1), seq INTEGER NOT NULL, hash BLOB NOT NULL) STRICT;
INSERT INTO audit_head VALUES(1, 0, zeroblob(32));

CREATE TABLE lock(
  lockId TEXT PRIMARY KEY, holder TEXT NOT NULL, attainedAt INTEGER NOT NULL, until INTEGER NOT NULL)
  STRICT, WITHOUT ROWID;

-- Dead jobs in the words of channels and consumers: QUEUED 1001 (sent again), DELIVERED 1003, DEAD 1004.
CREATE VIEW job AS
  SELECT l.job_partition || '-' || l.job_offset AS id, s.consumer AS consumerId, l.lineage AS messageId,
         CASE l.state WHEN 0 THEN 1004 WHEN 1 THEN 1001 ELSE 1003 END AS status,
         max(l.attempts - 1, 0) AS retryAttemptCount,
         strftime('%Y-%m-%d %H:%M:%f', l.changed_at / 1000.0, 'unixepoch') AS statusChangedAt,
         strftime('%Y-%m-%d %H:%M:%f', l.arrived_at / 1000.0, 'unixepoch') AS createdAt
    FROM letters l JOIN shelves s ON s.id = l.shelf WHERE l.state IN (0, 1, 2);
)";

constexpr std::string_view kArchives = R"(
INSERT INTO numbers VALUES('archive', 1);
CREATE TABLE archives(
  seq INTEGER PRIMARY KEY, id TEXT NOT NULL, dlq TEXT NOT NULL, sha256 TEXT NOT NULL, letters INTEGER NOT NULL,
  bytes INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, created_at INTEGER NOT NULL) STRICT;
CREATE INDEX archives_by_id ON archives(id);
-- Where the bytes of an archived letter are.
CREATE TABLE archived(letter INTEGER PRIMARY KEY, archive INTEGER NOT NULL) STRICT;
CREATE INDEX archived_in ON archived(archive);
)";

// Access: keys by the hash of their secret; sessions by the hash of their cookie; answers that are given again.
constexpr std::string_view kAccess = R"(
CREATE TABLE keys(
  id TEXT PRIMARY KEY, name TEXT NOT NULL, hash BLOB NOT NULL, role TEXT NOT NULL, scopes INTEGER NOT NULL,
  created_at INTEGER NOT NULL, created_by TEXT NOT NULL, expires_at INTEGER, last_used_at INTEGER, revoked_at INTEGER)
  STRICT, WITHOUT ROWID;

CREATE TABLE sessions(
  hash BLOB PRIMARY KEY, key TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL)
  STRICT, WITHOUT ROWID;
CREATE INDEX sessions_of_key ON sessions(key);
CREATE INDEX sessions_by_end ON sessions(expires_at);

CREATE TABLE answers(
  actor TEXT NOT NULL, key TEXT NOT NULL, request BLOB NOT NULL, at INTEGER NOT NULL, status INTEGER NOT NULL,
  type TEXT NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY(actor, key)) STRICT, WITHOUT ROWID;
CREATE INDEX answers_by_time ON answers(at);
)";

// Channels and their consumers. `token` of a channel is a hash; that of a consumer goes out with every message.
constexpr std::string_view kChannels = R"(
CREATE TABLE channels(
  id TEXT PRIMARY KEY, name TEXT NOT NULL, token BLOB NOT NULL, partitions INTEGER NOT NULL,
  created_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE consumers(
  channel TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, url TEXT NOT NULL, token TEXT NOT NULL,
  retry TEXT NOT NULL, reject TEXT NOT NULL, starts TEXT NOT NULL, paused INTEGER NOT NULL,
  created_at INTEGER NOT NULL, PRIMARY KEY(channel, id)) STRICT, WITHOUT ROWID;

-- Messages by the ids that their senders gave them; `at_offset` is null until it is known that the log has it.
CREATE TABLE channel_messages(
  seq INTEGER PRIMARY KEY, channel TEXT NOT NULL, id TEXT NOT NULL, hash BLOB NOT NULL, partition INTEGER NOT NULL,
  from_offset INTEGER NOT NULL, at_offset INTEGER, type TEXT NOT NULL, taken_at INTEGER NOT NULL,
  UNIQUE(channel, id)) STRICT;
CREATE INDEX channel_messages_by_time ON channel_messages(taken_at);
)";

// Sinks: lives that each does not have yet, in the order in which it gets them; those it does not take as they are; the
// dlqs it is told of, and how far it was told of letters that were there before: numbers from `next` to `until`.
constexpr std::string_view kSinks = R"(
CREATE TABLE sink_queue(
  sink TEXT NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, replays INTEGER NOT NULL, shelf INTEGER NOT NULL,
  lineage TEXT NOT NULL, dlq_partition INTEGER NOT NULL, dlq_offset INTEGER NOT NULL, origin_partition INTEGER,
  origin_offset INTEGER, timestamp INTEGER, instance TEXT NOT NULL, dialect TEXT NOT NULL, kind INTEGER NOT NULL,
  attempts INTEGER NOT NULL, error_type TEXT NOT NULL, error_message TEXT NOT NULL, first_failure_at INTEGER,
  died_at INTEGER NOT NULL, arrived_at INTEGER NOT NULL, published_at INTEGER NOT NULL, stack TEXT NOT NULL,
  bytes BLOB NOT NULL, PRIMARY KEY(sink, number)) STRICT;
CREATE TABLE sink_refused(
  sink TEXT NOT NULL, number INTEGER NOT NULL, why TEXT NOT NULL, at INTEGER NOT NULL, id TEXT NOT NULL,
  replays INTEGER NOT NULL, shelf INTEGER NOT NULL, lineage TEXT NOT NULL, dlq_partition INTEGER NOT NULL,
  dlq_offset INTEGER NOT NULL, origin_partition INTEGER, origin_offset INTEGER, timestamp INTEGER,
  instance TEXT NOT NULL, dialect TEXT NOT NULL, kind INTEGER NOT NULL, attempts INTEGER NOT NULL,
  error_type TEXT NOT NULL, error_message TEXT NOT NULL, first_failure_at INTEGER, died_at INTEGER NOT NULL,
  arrived_at INTEGER NOT NULL, published_at INTEGER NOT NULL, stack TEXT NOT NULL, bytes BLOB NOT NULL,
  PRIMARY KEY(sink, number)) STRICT;
CREATE TABLE sink_feeds(
  sink TEXT NOT NULL, dlq TEXT NOT NULL, next INTEGER NOT NULL, until INTEGER NOT NULL,
  PRIMARY KEY(sink, dlq)) STRICT, WITHOUT ROWID;
)";

// What is looked at often and must not be counted each time: results of operations; the walk of the check of counts.
constexpr std::string_view kCounts = R"(
CREATE TABLE operation_results(
  operation INTEGER NOT NULL, result INTEGER NOT NULL, items INTEGER NOT NULL CHECK(items >= 0),
  changed_at INTEGER NOT NULL, PRIMARY KEY(operation, result)) STRICT, WITHOUT ROWID;
INSERT INTO operation_results
  SELECT operation, result, count(*), max(changed_at) FROM operation_items GROUP BY operation, result;
CREATE INDEX operations_of_kind ON operations(kind, state);
CREATE INDEX operations_by_end ON operations(ended_at) WHERE ended_at IS NOT NULL;

-- Letters up to `walked_to` are counted in `walked`, and counted on while the rest is walked.
CREATE TABLE summary_walk(
  one INTEGER PRIMARY KEY CHECK(one = 1), walked_to INTEGER NOT NULL, ran_at INTEGER NOT NULL) STRICT;
INSERT INTO summary_walk VALUES(1, 0, 0);
CREATE TABLE walked(
  shelf INTEGER NOT NULL, state INTEGER NOT NULL, letters INTEGER NOT NULL,
  PRIMARY KEY(shelf, state)) STRICT, WITHOUT ROWID;

-- Archives that letters have left, and files that nobody needs any more.
CREATE TABLE archives_left(archive INTEGER PRIMARY KEY) STRICT;
CREATE TABLE archive_files_left(name TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;

-- A consumer of a channel is `{channel}.{id}`; any other group is `{channel}/{group}`, so that no two share an id.
UPDATE shelves SET consumer = iif(topic = '', dlq, topic) || '/' ||
    iif(consumer_group = '', iif(topic = '', dlq, topic), consumer_group)
  WHERE substr(consumer_group, 1, length(iif(topic = '', dlq, topic)) + 1) <> iif(topic = '', dlq, topic) || '.';
DELETE FROM dlq_summary WHERE consumerId NOT IN (SELECT channel || '.' || id FROM consumers);
UPDATE dlq_summary SET dead_count = 0;
INSERT INTO dlq_summary
  SELECT s.consumer, max(substr(s.consumer, length(iif(s.topic = '', s.dlq, s.topic)) + 2)),
         max(iif(s.topic = '', s.dlq, s.topic)), max(iif(s.topic = '', s.dlq, s.topic)), sum(c.letters), 0
    FROM shelves s JOIN counters c ON c.shelf = s.id AND c.state = 0 WHERE true GROUP BY s.consumer
  ON CONFLICT(consumerId) DO UPDATE SET dead_count = excluded.dead_count;
)";

// When counts were checked is text of the same form as the times of the view `job`: statements compare the two. The
// walk counts open letters of issues too, so it begins again. Shelves are freed when nothing lies on them any more.
constexpr std::string_view kChecks = R"(
CREATE TABLE summary_anew(
  consumerId TEXT PRIMARY KEY, consumerName TEXT NOT NULL, channelId TEXT NOT NULL, channelName TEXT NOT NULL,
  dead_count INTEGER NOT NULL DEFAULT 0 CHECK(dead_count >= 0), last_checked_at TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO summary_anew
  SELECT consumerId, consumerName, channelId, channelName, dead_count,
         strftime('%Y-%m-%d %H:%M:%f', last_checked_at / 1000.0, 'unixepoch') FROM dlq_summary;
DROP TABLE dlq_summary;
ALTER TABLE summary_anew RENAME TO dlq_summary;

CREATE TABLE walked_issues(issue INTEGER PRIMARY KEY, letters INTEGER NOT NULL) STRICT;
DELETE FROM walked;
UPDATE summary_walk SET walked_to = 0;

CREATE INDEX shelves_of_consumer ON shelves(consumer);
CREATE INDEX lives_of_shelf ON lives(shelf);
CREATE INDEX sink_queue_of_shelf ON sink_queue(shelf);
CREATE INDEX sink_refused_of_shelf ON sink_refused(shelf);
)";

// What a life's bytes were: they may lie in an archive when a copy of its record comes. Null where it was not noted.
constexpr std::string_view kLifeHashes = R"(
ALTER TABLE lives ADD COLUMN payload_hash BLOB;
)";

// Files are on the list of those that nobody needs before they are written. `deleting`: since when they are deleted;
// from then on no archive gets them.
constexpr std::string_view kArchiveNames = R"(
ALTER TABLE archive_files_left ADD COLUMN deleting INTEGER NOT NULL DEFAULT 0;
)";

// Of which log a position is: a dlq may be deleted and made anew. Empty where that is not known.
constexpr std::string_view kLogIds = R"(
ALTER TABLE cursors ADD COLUMN log_id TEXT NOT NULL DEFAULT '';
)";

// Where the first lives lay of letters that were sent again and are gone: what was sent may still die.
constexpr std::string_view kFirstPlaces = R"(
CREATE TABLE first_places(
  lineage TEXT NOT NULL, consumer_group TEXT NOT NULL, job_partition INTEGER NOT NULL, job_offset INTEGER NOT NULL,
  removed_at INTEGER NOT NULL, PRIMARY KEY(lineage, consumer_group)) STRICT, WITHOUT ROWID;
CREATE INDEX first_places_by_time ON first_places(removed_at);
)";

// Operations with letters that were taken and whose sending is not written down: few of all that were cancelled.
constexpr std::string_view kTakenLetters = R"(
CREATE INDEX operation_results_taken ON operation_results(operation) WHERE result = 5 AND items > 0;
)";

// Where the record of a life lay, if that was not the topic of its shelf (a private lane, or another topic that it was
// sent to); else empty.
constexpr std::string_view kOriginTopics = R"(
ALTER TABLE letters ADD COLUMN origin_topic TEXT NOT NULL DEFAULT '';
ALTER TABLE lives ADD COLUMN origin_topic TEXT NOT NULL DEFAULT '';
)";

constexpr std::array<std::string_view, 13> kAll = {kFirst,       kArchives,     kAccess,      kChannels,     kSinks,
                                                   kCounts,      kChecks,       kLifeHashes,  kArchiveNames, kLogIds,
                                                   kFirstPlaces, kTakenLetters, kOriginTopics};

}  // namespace

std::span<const std::string_view> migrations() { return kAll; }

}  // namespace bartleby::sqlite_store
