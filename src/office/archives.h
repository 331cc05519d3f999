// Letters into an archive and back: files of compressed JSON Lines with checksums, and a list of them in the store.
//
// An archive is durable before its letters' bytes leave the store. Its files are on the list of those to delete before
// they are written, under a name that no other archive ever has, and leave that list when the archive is listed: what a
// crash leaves is deleted later, and what somebody has begun to delete is listed by nobody. A letter that changed
// meanwhile stays what it is, and restoring leaves alone what is not in that archive any more, so everything here may
// be done again. One office at a time for `archive_letters`; should two overlap, nothing is lost; the others from any.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "codec/archive_line.h"
#include "model/audit_entry.h"
#include "ports/archive.h"
#include "ports/store.h"

namespace bartleby {

constexpr std::size_t kArchiveSlice = 500;                       // letters of one archive at most
constexpr std::size_t kArchiveBytes = std::size_t{16} << 20;     // before compression; one larger letter goes alone
constexpr std::size_t kMaxArchiveFile = std::size_t{256} << 20;  // that is read back
constexpr std::size_t kMaxArchiveLines = 4 * kMaxArchiveFile;    // of such a file

// What an archive is written within, so that it can be read: smaller for tests alone.
struct ArchiveLimits {
  std::size_t bytes = kArchiveBytes;
  std::size_t line = kMaxArchiveLine;
  std::size_t file = kMaxArchiveFile;
};

struct ArchiveEntry {
  std::string id, dlq;
  std::string sha256;        // of the file
  std::int64_t letters = 0;  // that went in
  std::int64_t here = 0;     // that are still archived in it
  std::int64_t bytes = 0;    // of the file
  Timestamp first, last;     // deaths of its letters
  Timestamp created_at;
};

// The id of the archive that has the bytes of this letter.
Result<std::optional<std::string>> archive_of(Connection& connection, std::int64_t letter);

// Names of an archive's files: its letters, and what it is, for people who have no store any more.
std::string archive_file(std::string_view id);
std::string archive_manifest(std::string_view id);
std::string manifest_text(const ArchiveEntry& entry);

// Writes a new archive: a name for it, then its files; `entry` gets the name. `list` makes the store know it, in one
// transaction; kFenced: somebody has begun to delete the files.
Result<void> write_archive(Store& store, Archive& archive, ArchiveEntry& entry, std::string_view file,
                           const std::function<Result<void>()>& list);
// To be called in that transaction.
Result<void> keep_files(Connection& connection, const std::string& id);
// Puts an archive's files on the list of those to delete.
Result<void> leave_files(Connection& connection, const std::string& id);

// The open ones of these letters, which lie in one dlq, at most as many as one archive takes: the first of them.
// Answers with how many of `letters` have been looked at. Before any bytes leave the store each line was read back: a
// letter that is damaged, or would be too large to be read, stays as it is and is named.
struct NotArchived {
  std::int64_t seq = 0;
  std::string id, why;
};
struct Archived {
  std::size_t looked_at = 0;
  std::size_t letters = 0;
  std::string id;  // empty: none could be archived
  std::vector<NotArchived> left_out;
};
Result<Archived> archive_letters(Store& store, Archive& archive, const std::string& dlq,
                                 const std::vector<std::int64_t>& letters, const Actor& actor, Timestamp now,
                                 const ArchiveLimits& limits = {});

// The newest first; `before`: the id of the last one seen. An unknown one answers with kNotFound.
Result<std::vector<ArchiveEntry>> list_archives(Connection& connection, std::string_view before, std::size_t limit);
Result<std::int64_t> count_archives(Connection& connection);
Result<ArchiveEntry> archive_entry(Connection& connection, std::string_view id);

struct Restored {
  std::size_t restored = 0;
  std::size_t left_alone = 0;  // not archived any more, or archived elsewhere since
};
// kMalformed: the file is not what was written; nothing is restored then.
Result<Restored> restore_archive(Store& store, Archive& archive, const std::string& id, const Actor& actor,
                                 Timestamp now);

}  // namespace bartleby
