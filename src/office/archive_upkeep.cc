#include "office/archive_upkeep.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "codec/archive_line.h"
#include "codec/sha256.h"
#include "codec/zstd_bytes.h"
#include "office/archives.h"
#include "office/audit.h"
#include "office/mutants.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr Duration kDeleteAgain{std::chrono::hours(1)};

struct Left {
  std::int64_t seq = 0;
  ArchiveEntry entry;
  std::map<std::string, Timestamp> here;  // deaths of the letters that are still in it, by id
};

Result<std::vector<std::int64_t>> archives_left(Store& store, std::int64_t after, std::size_t most) {
  std::vector<std::int64_t> found;
  BARTLEBY_TRY(store.read([&](Connection& connection) {
    return sql::each(
        connection, "SELECT archive FROM archives_left WHERE archive > $1 ORDER BY archive LIMIT $2",
        [&](Rows& row) { found.push_back(row.integer(0)); }, after, most);
  }));
  return found;
}

// Nothing: the list does not have it any more.
Result<std::optional<Left>> look_at(Store& store, std::int64_t seq) {
  std::optional<Left> left;
  BARTLEBY_TRY(store.read([&](Connection& connection) -> Result<void> {
    const auto id =
        sql::one(connection, "SELECT id FROM archives WHERE seq = $1", [](Rows& row) { return row.text(0); }, seq);
    if (!id) return std::unexpected(id.error());
    if (!*id) return {};
    auto entry = archive_entry(connection, **id);
    if (!entry) return std::unexpected(entry.error());
    left.emplace(seq, std::move(*entry));
    return sql::each(
        connection, "SELECT l.id, l.died_at FROM archived x JOIN letters l ON l.seq = x.letter WHERE x.archive = $1",
        [&](Rows& row) { left->here[row.text(0)] = timestamp_ms(row.integer(1)); }, seq);
  }));
  return left;
}

// The archive's lines of letters that are still in it.
Result<std::string> lines_kept(Archive& archive, const Left& left) {
  const auto file = archive.get(archive_file(left.entry.id), kMaxArchiveFile);
  if (!file) return std::unexpected(file.error());
  if (sha256_hex(*file) != left.entry.sha256) return fail(ErrorCode::kMalformed, "its checksum differs");
  const auto lines = zstd_decompressed(*file, kMaxArchiveLines);
  if (!lines) return std::unexpected(lines.error());
  std::string kept;
  for (const auto part : std::views::split(*lines, '\n')) {
    const std::string_view line(part.begin(), part.end());
    if (line.empty()) continue;
    const auto letter = archived_letter(line);
    if (!letter) return std::unexpected(letter.error());
    if (left.here.contains(letter->id)) kept.append(line) += '\n';
  }
  return kept;
}

// kFenced: another office has rewritten or removed it since it was looked at.
Result<void> still_listed(Connection& connection, const Left& left) {
  const auto found = sql::one(
      connection, "SELECT 1 FROM archives WHERE seq = $1 AND id = $2", [](Rows& row) { return row.integer(0); },
      left.seq, left.entry.id);
  if (!found) return std::unexpected(found.error());
  if (!*found && !office_mutant(OfficeMutant::kStaleArchiveRewritten))
    return fail(ErrorCode::kFenced, "another office has changed archive " + left.entry.id);
  return {};
}

Result<void> note(Connection& connection, const Left& left, const std::string& to, Timestamp now) {
  AuditChain audit(connection);
  BARTLEBY_TRY(audit.append(
      {0, now, "office", to.empty() ? "remove" : "rewrite", left.entry.id, "", to, "letters have left it", "", ""}));
  return audit.finish();
}

Result<void> remove_one(Store& store, const Left& left, Timestamp now) {
  return store.write([&](Connection& connection) -> Result<void> {
    BARTLEBY_TRY(still_listed(connection, left));
    BARTLEBY_TRY(sql::execute(connection, "DELETE FROM archives WHERE seq = $1", left.seq));
    BARTLEBY_TRY(sql::execute(connection, "DELETE FROM archives_left WHERE archive = $1", left.seq));
    BARTLEBY_TRY(leave_files(connection, left.entry.id));
    return note(connection, left, "", now);
  });
}

Result<void> rewrite_one(Store& store, Archive& archive, const Left& left, const std::string& lines, Timestamp now) {
  ArchiveEntry entry = left.entry;
  entry.letters = static_cast<std::int64_t>(left.here.size());
  const auto deaths = left.here | std::views::values;
  entry.first = std::ranges::min(deaths);
  entry.last = std::ranges::max(deaths);
  return write_archive(store, archive, entry, zstd_compressed(lines), [&]() -> Result<void> {
    if (office_mutant(OfficeMutant::kOldFileDeletedFirst)) BARTLEBY_TRY(archive.remove(archive_file(left.entry.id)));
    return store.write([&](Connection& connection) -> Result<void> {
      BARTLEBY_TRY(still_listed(connection, left));
      // Whoever left since is in the new file too, and comes with the next call.
      const auto now_here = sql::one(
          connection, "SELECT count(*) FROM archived WHERE archive = $1", [](Rows& row) { return row.integer(0); },
          left.seq);
      if (!now_here) return std::unexpected(now_here.error());
      BARTLEBY_TRY(sql::execute(connection,
                                "UPDATE archives SET id = $2, sha256 = $3, letters = $4, bytes = $5, first = $6,"
                                " last = $7 WHERE seq = $1",
                                left.seq, entry.id, entry.sha256, entry.letters, entry.bytes, ms(entry.first),
                                ms(entry.last)));
      if (now_here->value_or(0) == entry.letters)
        BARTLEBY_TRY(sql::execute(connection, "DELETE FROM archives_left WHERE archive = $1", left.seq));
      BARTLEBY_TRY(keep_files(connection, entry.id));
      BARTLEBY_TRY(leave_files(connection, left.entry.id));
      return note(connection, left, entry.id, now);
    });
  });
}

// Marked first: who is about to list them sees it. Once more after an hour: a writer that stood still may have written
// a file after it was deleted. One that an archive has stays: its writer did not hear that it is listed. One that
// cannot be deleted does not hold up the others.
Result<void> delete_files(Store& store, Archive& archive, std::size_t most, Timestamp now) {
  struct File {
    std::string name;
    bool again = false, used = false;
  };
  std::vector<File> files;
  const auto mark = [&](Connection& connection) -> Result<void> {
    files.clear();
    BARTLEBY_TRY(sql::each(
        connection,
        "SELECT name, deleting FROM archive_files_left WHERE deleting <= $1 OR deleting > $2"
        " ORDER BY deleting, name LIMIT $3",
        [&](Rows& row) { files.push_back({row.text(0), row.integer(1) != 0}); }, ms(now - kDeleteAgain), ms(now),
        most));
    for (File& file : files) {
      const auto found = sql::one(
          connection, "SELECT 1 FROM archives WHERE id = $1 LIMIT 1", [](Rows& row) { return row.integer(0); },
          file.name.substr(0, file.name.find('.')));
      if (!found) return std::unexpected(found.error());
      file.used = found->has_value();
      BARTLEBY_TRY(
          sql::execute(connection, "UPDATE archive_files_left SET deleting = $2 WHERE name = $1", file.name, ms(now)));
    }
    return {};
  };
  BARTLEBY_TRY(store.write(mark));
  Result<void> all;
  for (const File& file : files) {
    if (!file.used) {
      auto gone = archive.remove(file.name);
      if (!gone && gone.error().code != ErrorCode::kNotFound) {
        if (all) all = std::move(gone);
        continue;
      }
    }
    if (file.used || file.again || office_mutant(OfficeMutant::kDeletedOnce))
      BARTLEBY_TRY(store.write([&](Connection& connection) {  // unless somebody has put it there again
        return sql::execute(connection, "DELETE FROM archive_files_left WHERE name = $1 AND deleting = $2", file.name,
                            ms(now));
      }));
  }
  return all;
}

// An error ends the whole round; what concerns this archive alone is in `failed`.
Result<void> tidy_one(Store& store, Archive& archive, std::int64_t seq, Timestamp now, ArchiveUpkeep& done,
                      Result<void>& failed) {
  const auto keep_first = [&](Error error) {
    if (failed) failed = std::unexpected(std::move(error));
    return Result<void>();
  };
  const auto one = look_at(store, seq);
  if (!one) return std::unexpected(one.error());
  if (!*one)
    return store.write([&](Connection& connection) {
      return sql::execute(connection, "DELETE FROM archives_left WHERE archive = $1", seq);
    });
  if ((*one)->here.empty()) {
    const auto removed = remove_one(store, **one, now);
    if (!removed) return keep_first(removed.error());
    ++done.removed;
    return {};
  }
  const auto lines = lines_kept(archive, **one);
  if (lines) {
    const auto rewritten = rewrite_one(store, archive, **one, *lines, now);
    if (!rewritten) return keep_first(rewritten.error());
    ++done.rewritten;
    return {};
  }
  if (lines.error().code != ErrorCode::kMalformed && lines.error().code != ErrorCode::kNotFound)
    return keep_first(lines.error());
  const auto again = look_at(store, seq);
  if (!again) return std::unexpected(again.error());
  if (*again && (*again)->entry.id == (*one)->entry.id) done.damaged.push_back((*one)->entry.id);
  return {};
}

}  // namespace

// Files are deleted before and after: on a full disk that is what makes room for an archive to be rewritten, and what
// is rewritten leaves files. One archive that cannot be dealt with holds up no other.
Result<ArchiveUpkeep> tidy_archives(Store& store, Archive& archive, std::size_t most, Timestamp now) {
  ArchiveUpkeep done;
  Result<void> failed = delete_files(store, archive, 4 * most, now);
  std::int64_t after = 0;
  for (;;) {
    const auto left = archives_left(store, after, most);
    if (!left) return std::unexpected(left.error());
    for (const std::int64_t seq : *left) {
      BARTLEBY_TRY(tidy_one(store, archive, seq, now, done, failed));
      after = seq;
    }
    if (left->size() < most || done.removed + done.rewritten >= most) break;
  }
  auto deleted = delete_files(store, archive, 4 * most, now);
  if (failed) failed = std::move(deleted);
  if (!failed) return std::unexpected(failed.error());
  return done;
}

}  // namespace bartleby
