#include "office/archives.h"

#include <algorithm>
#include <ranges>

#include "codec/json_text.h"
#include "codec/sha256.h"
#include "codec/time_text.h"
#include "codec/zstd_bytes.h"
#include "office/arrival.h"
#include "office/letter_changes.h"
#include "office/mutants.h"
#include "office/sql.h"

namespace bartleby {
namespace {

constexpr std::size_t kRestoreSlice = 500;  // letters of one transaction

struct Chosen {
  std::int64_t seq = 0;
  std::string id;
  Seen seen;
};

// What goes into one archive.
struct Packed {
  std::size_t looked_at = 0;
  std::vector<Chosen> chosen;
  std::string lines;
  Timestamp first = Timestamp::max(), last = Timestamp::min();
  std::vector<NotArchived> left_out;
};

struct Lives {
  std::vector<LifeBytes> bytes;
  std::string damaged;  // why they are not all here
};

Result<Lives> lives_of(Connection& connection, std::int64_t seq) {
  Lives lives;
  BARTLEBY_TRY(sql::each(
      connection, "SELECT life, stack, bytes FROM payloads WHERE letter = $1 ORDER BY life",
      [&](Rows& row) {
        auto payload = unpacked(row.view(2));
        if (!payload) {
          lives.damaged = payload.error().message;
          return;
        }
        payload->stack = row.text(1);
        lives.bytes.push_back({static_cast<std::uint32_t>(row.integer(0)), std::move(*payload)});
      },
      seq));
  if (lives.bytes.empty() && lives.damaged.empty()) lives.damaged = "its bytes are not here";
  return lives;
}

// Why a restore would not bring back what is in this line; empty: it would.
std::string unreadable(std::string_view line, const std::vector<LifeBytes>& lives, const ArchiveLimits& limits) {
  line.remove_suffix(1);
  if (line.size() > limits.line)
    return "with all its lives it has " + std::to_string(line.size()) + " bytes; a line of an archive has at most " +
           std::to_string(limits.line);
  const auto back = archived_letter(line);
  if (!back) return "it could not be read back: " + back.error().message;
  return back->lives == lives ? "" : "it is not the same when it is read back";
}

Result<Packed> pack(Store& store, const std::vector<std::int64_t>& letters, const ArchiveLimits& limits) {
  Packed out;
  auto read = store.read([&](Connection& connection) -> Result<void> {
    for (const std::int64_t seq : letters) {
      const auto row = letter_row(connection, seq);
      if (!row) return std::unexpected(row.error());
      if (*row && (*row)->letter.state == LetterState::kOpen) {
        const StoredLetter& letter = (*row)->letter;
        if (out.chosen.size() == kArchiveSlice) return {};
        if (!out.chosen.empty() && out.lines.size() + letter.size > limits.bytes) return {};
        const auto lives = lives_of(connection, seq);
        if (!lives) return std::unexpected(lives.error());
        const std::string line = lives->damaged.empty() ? archive_line(letter, lives->bytes) : "";
        // Its other lives count too.
        if (!out.chosen.empty() && out.lines.size() + line.size() > limits.bytes) return {};
        if (std::string why = line.empty() ? lives->damaged : unreadable(line, lives->bytes, limits); !why.empty()) {
          out.left_out.push_back({seq, letter.id, std::move(why)});
        } else {
          out.lines += line;
          out.chosen.push_back({seq, letter.id, {LetterState::kOpen, letter.replays, letter.version}});
          out.first = std::min(out.first, letter.died_at);
          out.last = std::max(out.last, letter.died_at);
        }
      }
      ++out.looked_at;
    }
    return {};
  });
  if (!read) return std::unexpected(read.error());
  return out;
}

ArchiveEntry read_entry(Rows& row) {
  return {row.text(0),
          row.text(1),
          row.text(2),
          row.integer(3),
          row.integer(4),
          row.integer(5),
          timestamp_ms(row.integer(6)),
          timestamp_ms(row.integer(7)),
          timestamp_ms(row.integer(8))};
}

#define BARTLEBY_ARCHIVE                                                                                         \
  "SELECT a.id, a.dlq, a.sha256, a.letters, (SELECT count(*) FROM archived x JOIN letters l ON l.seq = x.letter" \
  " WHERE x.archive = a.seq AND l.state = 4), a.bytes, a.first, a.last, a.created_at FROM archives a"
static_assert(static_cast<int>(LetterState::kArchived) == 4);

}  // namespace

Result<std::optional<std::string>> archive_of(Connection& connection, std::int64_t letter) {
  return sql::one(
      connection, "SELECT a.id FROM archived d JOIN archives a ON a.seq = d.archive WHERE d.letter = $1",
      [](Rows& row) { return row.text(0); }, letter);
}

std::string archive_file(std::string_view id) { return std::string(id) + ".jsonl.zst"; }
std::string archive_manifest(std::string_view id) { return std::string(id) + ".json"; }

std::string manifest_text(const ArchiveEntry& entry) {
  std::string text;
  {
    JsonObject object(text);
    object.text("id", entry.id);
    object.text("dlq", entry.dlq);
    object.text("file", archive_file(entry.id));
    object.text("sha256", entry.sha256);
    object.number("letters", entry.letters);
    object.number("bytes", entry.bytes);
    object.text("first", time_text(entry.first));
    object.text("last", time_text(entry.last));
    object.text("created_at", time_text(entry.created_at));
  }
  return text + "\n";
}

Result<void> leave_files(Connection& connection, const std::string& id) {
  for (const std::string& name : {archive_file(id), archive_manifest(id)})
    BARTLEBY_TRY(sql::execute(
        connection, "INSERT INTO archive_files_left(name) VALUES($1) ON CONFLICT(name) DO UPDATE SET deleting = 0",
        name));
  return {};
}

Result<void> keep_files(Connection& connection, const std::string& id) {
  const auto there = sql::one(
      connection, "SELECT count(*) FROM archive_files_left WHERE name IN ($1, $2) AND deleting = 0",
      [](Rows& row) { return row.integer(0); }, archive_file(id), archive_manifest(id));
  if (!there) return std::unexpected(there.error());
  if (there->value_or(0) != 2 && !office_mutant(OfficeMutant::kListedThoughDeleted) &&
      !office_mutant(OfficeMutant::kNameNotWritten))
    return fail(ErrorCode::kFenced, "the files of " + id + " were deleted before it was listed; it is written again");
  return sql::execute(connection, "DELETE FROM archive_files_left WHERE name IN ($1, $2)", archive_file(id),
                      archive_manifest(id));
}

Result<void> write_archive(Store& store, Archive& archive, ArchiveEntry& entry, std::string_view file,
                           const std::function<Result<void>()>& list) {
  entry.sha256 = sha256_hex(file);
  entry.bytes = static_cast<std::int64_t>(file.size());
  BARTLEBY_TRY(store.write([&](Connection& connection) -> Result<void> {
    const auto number = sql::take_numbers(connection, "archive", 1);
    if (!number) return std::unexpected(number.error());
    entry.id = "arc_" + sha256_hex(entry.sha256 + "/" + std::to_string(*number)).substr(0, 24);
    return office_mutant(OfficeMutant::kNameNotWritten) ? Result<void>() : leave_files(connection, entry.id);
  }));
  const auto put = [&]() -> Result<void> {
    BARTLEBY_TRY(archive.put(archive_file(entry.id), file));
    return archive.put(archive_manifest(entry.id), manifest_text(entry));
  };
  // First: what is in the file may be lost with it, what is in neither is lost.
  const bool late = office_mutant(OfficeMutant::kBytesLeaveFirst);
  Result<void> done = late ? Result<void>() : put();
  if (done) done = list();
  if (!done) {  // they may have come after they were deleted
    BARTLEBY_TRY(store.write([&](Connection& connection) { return leave_files(connection, entry.id); }));
    return done;
  }
  return late ? put() : done;
}

Result<Archived> archive_letters(Store& store, Archive& archive, const std::string& dlq,
                                 const std::vector<std::int64_t>& letters, const Actor& actor, Timestamp now,
                                 const ArchiveLimits& limits) {
  const auto packed = pack(store, letters, limits);
  if (!packed) return std::unexpected(packed.error());
  Archived done{packed->looked_at, 0, {}, packed->left_out};
  if (packed->chosen.empty()) return done;
  const std::string file = zstd_compressed(packed->lines);
  if (file.size() > limits.file || packed->lines.size() > kMaxArchiveLines) {
    for (const Chosen& one : packed->chosen)
      done.left_out.push_back({one.seq, one.id, "its archive would be larger than what is read back"});
    return done;
  }
  ArchiveEntry entry;
  entry.dlq = dlq;
  entry.letters = static_cast<std::int64_t>(packed->chosen.size());
  entry.first = packed->first;
  entry.last = packed->last;
  entry.created_at = now;
  const auto change = [&](LetterChanges& changes) -> Result<void> {
    done.letters = 0;
    BARTLEBY_TRY(keep_files(changes.connection(), entry.id));
    const auto number = sql::take_numbers(changes.connection(), "archive", 1);
    if (!number) return std::unexpected(number.error());
    for (const Chosen& one : packed->chosen) {
      const auto changed =
          changes.change(one.seq, one.seen, LetterCause::kArchive, {.detail = "{\"archive\":\"" + entry.id + "\"}"});
      if (!changed) return std::unexpected(changed.error());
      if (changed->result != ChangeResult::kDone) continue;
      BARTLEBY_TRY(sql::execute(changes.connection(),
                                "INSERT INTO archives_left(archive) SELECT archive FROM archived WHERE letter = $1"
                                " ON CONFLICT(archive) DO NOTHING",
                                one.seq));
      BARTLEBY_TRY(sql::execute(changes.connection(),
                                "INSERT INTO archived(letter, archive) VALUES($1, $2)"
                                " ON CONFLICT(letter) DO UPDATE SET archive = excluded.archive",
                                one.seq, *number));
      ++done.letters;
    }
    // A letter that changed meanwhile is in the file all the same, and leaves it.
    if (done.letters < packed->chosen.size())
      BARTLEBY_TRY(sql::execute(changes.connection(), "INSERT INTO archives_left(archive) VALUES($1)", *number));
    return sql::execute(changes.connection(),
                        "INSERT INTO archives(seq, id, dlq, sha256, letters, bytes, first, last, created_at)"
                        " VALUES($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                        *number, entry.id, entry.dlq, entry.sha256, entry.letters, entry.bytes, ms(entry.first),
                        ms(entry.last), ms(now));
  };
  BARTLEBY_TRY(write_archive(store, archive, entry, file, [&] { return change_letters(store, actor, now, change); }));
  done.id = entry.id;
  return done;
}

Result<std::vector<ArchiveEntry>> list_archives(Connection& connection, std::string_view before, std::size_t limit) {
  std::int64_t below = INT64_MAX;
  if (!before.empty()) {
    const auto seq = sql::one(
        connection, "SELECT seq FROM archives WHERE id = $1 ORDER BY seq DESC",
        [](Rows& row) { return row.integer(0); }, before);
    if (!seq) return std::unexpected(seq.error());
    if (!*seq) return fail(ErrorCode::kNotFound, "no archive " + std::string(before.substr(0, 64)));
    below = **seq;
  }
  std::vector<ArchiveEntry> found;
  BARTLEBY_TRY(sql::each(
      connection, BARTLEBY_ARCHIVE " WHERE a.seq < $1 ORDER BY a.seq DESC LIMIT $2",
      [&](Rows& row) { found.push_back(read_entry(row)); }, below, limit));
  return found;
}

Result<std::int64_t> count_archives(Connection& connection) {
  const auto count = sql::one(connection, "SELECT count(*) FROM archives", [](Rows& row) { return row.integer(0); });
  if (!count) return std::unexpected(count.error());
  return count->value_or(0);
}

Result<ArchiveEntry> archive_entry(Connection& connection, std::string_view id) {
  auto found = sql::one(connection, BARTLEBY_ARCHIVE " WHERE a.id = $1 ORDER BY a.seq DESC LIMIT 1", read_entry, id);
  if (!found) return std::unexpected(found.error());
  if (!*found) return fail(ErrorCode::kNotFound, "no archive " + std::string(id.substr(0, 64)));
  return std::move(**found);
}

Result<Restored> restore_archive(Store& store, Archive& archive, const std::string& id, const Actor& actor,
                                 Timestamp now) {
  ArchiveEntry entry;
  BARTLEBY_TRY(store.read([&](Connection& connection) -> Result<void> {
    auto found = archive_entry(connection, id);
    if (!found) return std::unexpected(found.error());
    entry = std::move(*found);
    return {};
  }));
  const auto file = archive.get(archive_file(entry.id), kMaxArchiveFile);
  if (!file) return std::unexpected(file.error());
  if (sha256_hex(*file) != entry.sha256)
    return fail(ErrorCode::kMalformed, "archive " + id + " is not what was written: its checksum differs");
  const auto lines = zstd_decompressed(*file, kMaxArchiveLines);
  if (!lines) return std::unexpected(lines.error());
  std::vector<ArchivedLetter> letters;
  for (const auto part : std::views::split(*lines, '\n')) {
    const std::string_view line(part.begin(), part.end());
    if (line.empty()) continue;
    auto letter = archived_letter(line);
    if (!letter) return std::unexpected(letter.error());
    letters.push_back(std::move(*letter));
  }

  Restored done;
  for (std::size_t from = 0; from < letters.size(); from += kRestoreSlice) {
    Restored slice;
    BARTLEBY_TRY(change_letters(store, actor, now, [&](LetterChanges& changes) -> Result<void> {
      slice = {};
      for (std::size_t i = from; i < std::min(from + kRestoreSlice, letters.size()); ++i) {
        const ArchivedLetter& one = letters[i];
        const auto here = sql::one(
            changes.connection(),
            "SELECT l.seq FROM letters l JOIN archived x ON x.letter = l.seq JOIN archives a ON a.seq = x.archive"
            " WHERE l.id = $1 AND a.id = $2",
            [](Rows& row) { return row.integer(0); }, one.id, entry.id);
        if (!here) return std::unexpected(here.error());
        auto result = ChangeResult::kNotFound;
        if (*here) {
          const auto changed =
              changes.change(**here, {LetterState::kArchived, one.replays, std::nullopt}, LetterCause::kRestore,
                             {.detail = "{\"archive\":\"" + entry.id + "\"}", .lives = &one.lives});
          if (!changed) return std::unexpected(changed.error());
          result = changed->result;
        }
        ++(result == ChangeResult::kDone ? slice.restored : slice.left_alone);
      }
      return {};
    }));
    done.restored += slice.restored;
    done.left_alone += slice.left_alone;
  }
  return done;
}

}  // namespace bartleby
