#include "office/channels.h"

#include "codec/hmac.h"
#include "codec/json_text.h"
#include "codec/sha256.h"
#include "model/letter_state.h"
#include "office/audit.h"
#include "office/sql.h"
#include "office/tally.h"

namespace bartleby {
namespace {

constexpr std::string_view kMake = "make-consumer", kChange = "change-consumer", kRemove = "remove-consumer";

#define BARTLEBY_CHANNEL "SELECT id, name, token, partitions, created_at FROM channels"
#define BARTLEBY_CONSUMER \
  "SELECT channel, id, name, url, token, retry, reject, starts, paused, created_at FROM consumers"

Channel read_channel(Rows& row) {
  return {row.text(0), row.text(1), row.text(2), static_cast<std::int32_t>(row.integer(3)),
          timestamp_ms(row.integer(4))};
}

Consumer read_consumer(Rows& row) {
  Consumer c;
  c.channel = row.text(0);
  c.id = row.text(1);
  c.name = row.text(2);
  c.url = row.text(3);
  c.token = row.text(4);
  c.retry = row.text(5);
  c.reject = row.text(6);
  c.starts = row.text(7);
  c.paused = row.integer(8) != 0;
  c.created_at = timestamp_ms(row.integer(9));
  return c;
}

Result<std::int64_t> count_of(Connection& connection, std::string_view statement) {
  auto count = sql::one(connection, statement, [](Rows& row) { return row.integer(0); });
  if (!count) return std::unexpected(count.error());
  return count->value_or(0);
}

Result<void> write_audit(Connection& connection, const Actor& actor, Timestamp now, std::string_view action,
                         const std::string& subject, std::string detail = "") {
  AuditEntry line;
  line.at = now;
  line.actor = actor.name;
  line.action = action;
  line.subject = subject;
  line.reason = actor.reason;
  line.request_id = actor.request_id;
  line.detail = std::move(detail);
  return append_audit(connection, std::move(line));
}

// Without a password and without a query: both may be secrets, and the audit is for ever.
std::string without_secrets(std::string_view url) {
  std::string out(url.substr(0, url.find_first_of("?#")));
  if (out.size() < url.size()) out += "?…";
  const std::size_t host = out.find("://");
  if (host == std::string::npos) return out;
  const std::size_t at = out.substr(0, out.find('/', host + 3)).rfind('@');
  if (at != std::string::npos) out.replace(host + 3, at - host - 3, "…");
  return out;
}

// What is other than before, by name; of the address what may be told.
std::string detail_of(const std::optional<Consumer>& before, const Consumer& now) {
  std::string detail;
  {
    JsonObject object(detail);
    object.text("url", without_secrets(now.url));
    if (before) {
      if (before->url != now.url) object.text("url_before", without_secrets(before->url));
      std::string changed;
      const auto compare = [&](std::string_view name, bool other) {
        if (other) changed += (changed.empty() ? "" : " ") + std::string(name);
      };
      compare("name", before->name != now.name);
      compare("url", before->url != now.url);
      compare("token", before->token != now.token);
      compare("retry", before->retry != now.retry);
      compare("reject", before->reject != now.reject);
      compare("paused", before->paused != now.paused);
      object.text("changed", changed);
    }
  }
  return detail;
}

}  // namespace

std::string token_hash(std::string_view token) {
  const Sha256 hash = sha256(token);
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

bool is_token(std::string_view given, std::string_view hash) { return same_bytes(token_hash(given), hash); }

Result<void> put_channel(Connection& connection, const Channel& channel, const Actor& actor, Timestamp now) {
  const auto known = find_channel(connection, channel.id);
  if (!known) return std::unexpected(known.error());
  if (!*known) {
    const auto count = count_of(connection, "SELECT count(*) FROM channels");
    if (!count) return std::unexpected(count.error());
    if (*count >= kMostChannels)
      return fail(ErrorCode::kTooLarge, "there are " + std::to_string(kMostChannels) + " channels, as many as may be");
  }
  BARTLEBY_TRY(sql::execute(connection,
                            "INSERT INTO channels(id, name, token, partitions, created_at) VALUES($1, $2, $3, $4, $5)"
                            " ON CONFLICT(id) DO UPDATE SET name = excluded.name, token = excluded.token",
                            channel.id, channel.name, Blob{channel.token}, channel.partitions, ms(now)));
  BARTLEBY_TRY(sql::execute(connection, "UPDATE dlq_summary SET channelName = $2 WHERE channelId = $1", channel.id,
                            channel.name));
  return write_audit(connection, actor, now, *known ? "change-channel" : "make-channel", channel.id);
}

Result<std::optional<Channel>> find_channel(Connection& connection, std::string_view id) {
  return sql::one(connection, BARTLEBY_CHANNEL " WHERE id = $1", read_channel, id);
}

Result<std::vector<Channel>> all_channels(Connection& connection) {
  std::vector<Channel> all;
  BARTLEBY_TRY(
      sql::each(connection, BARTLEBY_CHANNEL " ORDER BY id", [&](Rows& row) { all.push_back(read_channel(row)); }));
  return all;
}

Result<void> put_consumer(Connection& connection, const Consumer& c, const Actor& actor, Timestamp now) {
  const auto known = find_consumer(connection, c.channel, c.id);
  if (!known) return std::unexpected(known.error());
  if (!*known) {
    const auto count = count_of(connection, "SELECT count(*) FROM consumers");
    if (!count) return std::unexpected(count.error());
    if (*count >= kMostConsumers)
      return fail(ErrorCode::kTooLarge,
                  "there are " + std::to_string(kMostConsumers) + " consumers, as many as may be");
  }
  // `a` + `b.c` and `a.b` + `c` would be one worker, which can be at one of their channels only.
  const auto other = consumer_beside(connection, c);
  if (!other) return std::unexpected(other.error());
  if (!other->empty())
    return fail(ErrorCode::kFenced, "the worker " + c.worker() + " is that of consumer " + *other + " already");
  BARTLEBY_TRY(sql::execute(
      connection,
      "INSERT INTO consumers(channel, id, name, url, token, retry, reject, starts, paused, created_at)"
      " VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT(channel, id) DO UPDATE SET name = excluded.name,"
      " url = excluded.url, token = excluded.token, retry = excluded.retry, reject = excluded.reject,"
      " paused = excluded.paused",
      c.channel, c.id, c.name, c.url, c.token, c.retry, c.reject, c.starts, c.paused ? 1 : 0, ms(now)));
  BARTLEBY_TRY(sql::execute(
      connection,
      "INSERT INTO dlq_summary(consumerId, consumerName, channelId, channelName, dead_count, last_checked_at)"
      " SELECT $1, $2, id, name, 0, $4 FROM channels WHERE id = $3"
      " ON CONFLICT(consumerId) DO UPDATE SET consumerName = excluded.consumerName,"
      " channelName = excluded.channelName",
      c.worker(), c.name, c.channel, kNeverChecked));
  return write_audit(connection, actor, now, *known ? kChange : kMake, c.worker(), detail_of(*known, c));
}

Result<std::optional<Consumer>> find_consumer(Connection& connection, std::string_view channel, std::string_view id) {
  return sql::one(connection, BARTLEBY_CONSUMER " WHERE channel = $1 AND id = $2", read_consumer, channel, id);
}

Result<std::string> consumer_beside(Connection& connection, const Consumer& consumer) {
  auto other = sql::one(
      connection,
      "SELECT channel || '/' || id FROM consumers WHERE channel || '.' || id = $1 AND NOT (channel = $2 AND id = $3)",
      [](Rows& row) { return row.text(0); }, consumer.worker(), consumer.channel, consumer.id);
  if (!other) return std::unexpected(other.error());
  return other->value_or("");
}

// By the audit, which is never deleted. Its worker has lines under the same name.
Result<bool> was_removed(Connection& connection, const Consumer& consumer) {
  const auto last = sql::one(
      connection,
      "SELECT action FROM audit_log WHERE subject = $1 AND action IN ($2, $3, $4) ORDER BY seq DESC LIMIT 1",
      [](Rows& row) { return row.text(0); }, consumer.worker(), kMake, kChange, kRemove);
  if (!last) return std::unexpected(last.error());
  return *last && **last == kRemove;
}

Result<std::vector<Consumer>> consumers_of(Connection& connection, std::string_view channel) {
  std::vector<Consumer> all;
  BARTLEBY_TRY(sql::each(
      connection, BARTLEBY_CONSUMER " WHERE channel = $1 OR $1 = '' ORDER BY channel, id",
      [&](Rows& row) { all.push_back(read_consumer(row)); }, channel));
  return all;
}

Result<Removed> remove_consumer(Connection& connection, std::string_view channel, std::string_view id,
                                const Actor& actor, Timestamp now) {
  const auto known = find_consumer(connection, channel, id);
  if (!known) return std::unexpected(known.error());
  if (!*known) return Removed::kNotFound;
  const std::string inside = (*known)->worker();
  auto dead = sql::one(
      connection, "SELECT dead_count FROM dlq_summary WHERE consumerId = $1", [](Rows& row) { return row.integer(0); },
      inside);
  if (!dead) return std::unexpected(dead.error());
  if (dead->value_or(0) > 0) return Removed::kHasLetters;
  // What was sent again lies in its private lane: without its worker nobody would read it.
  const auto again = sql::one(
      connection,
      "SELECT coalesce(sum(c.letters), 0) FROM counters c JOIN shelves s ON s.id = c.shelf"
      " WHERE s.consumer_group = $1 AND c.state = $2",
      [](Rows& row) { return row.integer(0); }, inside, static_cast<int>(LetterState::kReplaying));
  if (!again) return std::unexpected(again.error());
  if (again->value_or(0) > 0) return Removed::kReplaying;
  BARTLEBY_TRY(sql::execute(connection, "DELETE FROM consumers WHERE channel = $1 AND id = $2", channel, id));
  BARTLEBY_TRY(sql::execute(connection, "DELETE FROM dlq_summary WHERE consumerId = $1", inside));
  BARTLEBY_TRY(write_audit(connection, actor, now, kRemove, inside));
  return Removed::kDone;
}

Result<std::string> begin_at_end(Broker& broker, const std::string& channel, const std::string& group, bool anew) {
  const auto offsets = broker.group_offsets(group, {channel});
  if (!offsets) return std::unexpected(offsets.error());
  std::string starts;
  std::vector<CommittedOffset> first;
  for (const CommittedOffset& at : *offsets) {
    if (at.offset && !at.metadata.empty() && !anew) return std::string();
    const auto range = broker.log_range(at.tp);
    if (!range) return std::unexpected(range.error());
    CommittedOffset one = at;
    if (!one.offset || anew) {
      one.offset = range->second;
      one.metadata.clear();  // what it says is of the earlier registration
    }
    starts += (starts.empty() ? "" : ",") + std::to_string(one.offset->v);
    if (!at.offset || anew) first.push_back(std::move(one));
  }
  if (!first.empty()) BARTLEBY_TRY(broker.commit_first(group, first));
  return "[" + starts + "]";
}

Result<std::optional<ChannelMessage>> find_message(Connection& connection, std::string_view channel,
                                                   std::string_view id) {
  return sql::one(
      connection,
      "SELECT channel, id, hash, partition, from_offset, at_offset, type FROM channel_messages"
      " WHERE channel = $1 AND id = $2",
      [](Rows& row) {
        ChannelMessage m;
        m.channel = row.text(0);
        m.id = row.text(1);
        m.hash = row.text(2);
        m.partition = Partition(static_cast<std::int32_t>(row.integer(3)));
        m.from = Offset(row.integer(4));
        if (const auto at = row.maybe(5)) m.at = Offset(*at);
        m.content_type = row.text(6);
        return m;
      },
      channel, id);
}

Result<void> begin_message(Connection& connection, const ChannelMessage& m, Timestamp now) {
  BARTLEBY_TRY(sql::execute(connection, "DELETE FROM channel_messages WHERE taken_at <= $1", ms(now - kMessagesKept)));
  BARTLEBY_TRY(sql::execute(connection,
                            "DELETE FROM channel_messages WHERE seq <= (SELECT max(seq) FROM channel_messages) - $1",
                            kMostMessages - 1));
  return sql::execute(connection,
                      "INSERT INTO channel_messages(channel, id, hash, partition, from_offset, type, taken_at)"
                      " VALUES($1, $2, $3, $4, $5, $6, $7) ON CONFLICT(channel, id) DO UPDATE SET"
                      " from_offset = excluded.from_offset",
                      m.channel, m.id, Blob{m.hash}, m.partition.v, m.from.v, m.content_type, ms(now));
}

Result<void> place_message(Connection& connection, std::string_view channel, std::string_view id, Offset at) {
  return sql::execute(connection, "UPDATE channel_messages SET at_offset = $3 WHERE channel = $1 AND id = $2", channel,
                      id, at.v);
}

}  // namespace bartleby
