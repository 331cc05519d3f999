#include "office/audit.h"

#include <algorithm>

#include "codec/sha256.h"
#include "office/audit_stretch.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr std::size_t kUsualLine = 512;  // bytes that are hashed
constexpr std::string_view kHead = "SELECT seq, hash FROM audit_head WHERE one = 1";

#define BARTLEBY_AUDIT_COLUMNS "seq, at, actor, action, subject, from_state, to_state, reason, request_id, detail"

// Every field with its length before it: no two lines have the same bytes.
void put(std::string& out, std::string_view field) {
  out += std::to_string(field.size());
  out += ':';
  out += field;
}

AuditHash hash_of(std::string_view bytes) {
  AuditHash hash{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), hash.size()), hash.begin());
  return hash;
}

std::string_view view(const AuditHash& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }

AuditEntry read_entry(Rows& row) {
  AuditEntry e;
  e.seq = row.integer(0);
  e.at = timestamp_ms(row.integer(1));
  std::string* const texts[] = {&e.actor, &e.action, &e.subject, &e.from, &e.to, &e.reason, &e.request_id, &e.detail};
  int column = 2;
  for (std::string* text : texts) *text = row.text(column++);
  return e;
}

}  // namespace

AuditHash audit_hash(const AuditHash& before, const AuditEntry& e) {
  std::string bytes;
  bytes.reserve(kUsualLine);
  bytes += view(before);
  put(bytes, std::to_string(e.seq));
  put(bytes, std::to_string(ms(e.at)));
  for (const std::string* field :
       {&e.actor, &e.action, &e.subject, &e.from, &e.to, &e.reason, &e.request_id, &e.detail})
    put(bytes, *field);
  return sha256(bytes);
}

Result<void> AuditChain::append(AuditEntry e) {
  if (!head_) {
    auto head = sql::one(connection_, kHead, [](Rows& row) { return Head{row.integer(0), hash_of(row.view(1))}; });
    if (!head) return std::unexpected(head.error());
    if (!*head) return fail(ErrorCode::kMalformed, "the audit has no head");
    head_ = **head;
  }
  e.seq = ++head_->seq;
  head_->hash = audit_hash(head_->hash, e);
  return sql::execute(connection_,
                      "INSERT INTO audit_log(" BARTLEBY_AUDIT_COLUMNS
                      ", hash) VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
                      e.seq, ms(e.at), e.actor, e.action, e.subject, e.from, e.to, e.reason, e.request_id, e.detail,
                      Blob{view(head_->hash)});
}

Result<void> AuditChain::finish() {
  if (!head_) return {};
  return sql::execute(connection_, "UPDATE audit_head SET seq = $1, hash = $2 WHERE one = 1", head_->seq,
                      Blob{view(head_->hash)});
}

Result<void> append_audit(Connection& connection, AuditEntry entry) {
  AuditChain audit(connection);
  BARTLEBY_TRY(audit.append(std::move(entry)));
  return audit.finish();
}

Result<AuditStretch> verify_stretch(Connection& connection, std::int64_t from, std::int64_t most) {
  AuditStretch stretch;
  AuditVerdict& verdict = stretch.verdict;
  verdict.lines = from - 1;
  AuditHash hash{};
  const auto blame = [&](std::int64_t line, std::string problem) {
    if (!verdict.good) return;
    verdict.good = false;
    verdict.bad_line = line;
    verdict.problem = std::move(problem);
  };
  if (from > 1) {
    const auto before = sql::one(
        connection, "SELECT hash FROM audit_log WHERE seq = $1", [](Rows& row) { return hash_of(row.view(0)); },
        from - 1);
    if (!before) return std::unexpected(before.error());
    if (!*before) blame(from - 1, "line " + std::to_string(from - 1) + " is missing");
    if (*before) hash = **before;
  }
  BARTLEBY_TRY(sql::each(
      connection, "SELECT " BARTLEBY_AUDIT_COLUMNS ", hash FROM audit_log WHERE seq >= $1 ORDER BY seq LIMIT $2",
      [&](Rows& row) {
        const AuditEntry entry = read_entry(row);
        ++verdict.lines;
        if (!verdict.good) return;
        if (entry.seq != verdict.lines)
          return blame(entry.seq, "line " + std::to_string(verdict.lines) + " is missing");
        hash = audit_hash(hash, entry);
        if (row.view(10) != view(hash))
          blame(entry.seq, "line " + std::to_string(entry.seq) + " is not as it was written");
      },
      from, most));
  if (!verdict.good) return stretch;
  if (verdict.lines - (from - 1) == most) return stretch.next = verdict.lines + 1, stretch;
  const auto head = sql::one(connection, kHead, [](Rows& row) { return std::pair(row.integer(0), row.text(1)); });
  if (!head) return std::unexpected(head.error());
  if (!*head || (*head)->first != verdict.lines || (*head)->second != view(hash))
    blame(verdict.lines + 1, "lines are missing at the end");
  return stretch;
}

Result<AuditVerdict> verify_audit(Connection& connection) {
  auto all = verify_stretch(connection, 1, INT64_MAX);
  if (!all) return std::unexpected(all.error());
  return std::move(all->verdict);
}

Result<std::vector<AuditEntry>> audit_page(Connection& connection, std::string_view subject,
                                           std::optional<std::int64_t> before, std::size_t limit) {
  std::vector<AuditEntry> page;
  const auto take = [&](Rows& row) { page.push_back(read_entry(row)); };
  const std::int64_t below = before.value_or(INT64_MAX);
  if (subject.empty())
    BARTLEBY_TRY(sql::each(connection,
                           "SELECT " BARTLEBY_AUDIT_COLUMNS " FROM audit_log WHERE seq < $1 ORDER BY seq DESC LIMIT $2",
                           take, below, limit));
  else
    BARTLEBY_TRY(sql::each(connection,
                           "SELECT " BARTLEBY_AUDIT_COLUMNS
                           " FROM audit_log WHERE subject = $3 AND seq < $1 ORDER BY seq DESC LIMIT $2",
                           take, below, limit, subject));
  return page;
}

Result<std::int64_t> count_audit(Connection& connection, std::string_view subject) {
  const auto number = [](Rows& row) { return row.integer(0); };
  const auto count = subject.empty()
                         ? sql::one(connection, kHead, number)  // lines are numbered without gaps
                         : sql::one(connection, "SELECT count(*) FROM audit_log WHERE subject = $1", number, subject);
  if (!count) return std::unexpected(count.error());
  return count->value_or(0);
}

}  // namespace bartleby
