// What archives promise: a letter whose bytes have left the store is in a file that is whole, comes back as it was, and
// leaves the file when it is purged or restored.
#include <algorithm>
#include <ranges>

#include "codec/archive_line.h"
#include "codec/sha256.h"
#include "codec/zstd_bytes.h"
#include "office/archives.h"
#include "office/sql.h"
#include "tests/sim/office_checker.h"

namespace bartleby::sim {

Result<void> OfficeChecker::look_at_archives(Connection& connection, Picture& picture) {
  BARTLEBY_TRY(sql::each(connection, "SELECT seq, id, sha256 FROM archives",
                         [&](Rows& r) { picture.archives[r.integer(0)] = {r.text(1), r.text(2)}; }));
  BARTLEBY_TRY(sql::each(connection, "SELECT letter, archive FROM archived",
                         [&](Rows& r) { picture.archived[r.integer(0)] = r.integer(1); }));
  BARTLEBY_TRY(sql::each(connection, "SELECT archive FROM archives_left",
                         [&](Rows& r) { picture.archives_left.insert(r.integer(0)); }));
  return sql::each(connection, "SELECT name FROM archive_files_left",
                   [&](Rows& r) { picture.files_left.insert(r.text(0)); });
}

// What a file holds: letters and their lives. Null: it is not there, or not what was written.
const std::map<std::string, std::uint32_t>* OfficeChecker::letters_in(const std::string& file) {
  const auto found = archive_.files().find(file);
  if (found == archive_.files().end()) return nullptr;
  const std::string hash = sha256_hex(found->second);
  const auto known = contents_.find(hash);
  if (known != contents_.end()) return &known->second;
  const auto lines = zstd_decompressed(found->second, 1 << 24);
  if (!lines) return nullptr;
  std::map<std::string, std::uint32_t> letters;
  for (const auto part : std::views::split(*lines, '\n')) {
    const std::string_view line(part.begin(), part.end());
    if (line.empty()) continue;
    const auto letter = archived_letter(line);
    if (!letter) return nullptr;
    letters[letter->id] = letter->replays;
  }
  return &contents_.emplace(hash, std::move(letters)).first->second;
}

void OfficeChecker::check_archives(const Picture& before) {
  for (const auto& [seq, letter] : now_.letters) {
    if (letter.state != LetterState::kArchived) {
      const auto was = before.letters.find(seq);
      if (was != before.letters.end() && was->second.state == LetterState::kArchived) check_restored(seq, letter);
      continue;
    }
    const auto in = now_.archived.find(seq);
    const auto archive = in == now_.archived.end() ? now_.archives.end() : now_.archives.find(in->second);
    if (archive == now_.archives.end()) {
      broken("archived in no archive: " + letter.id);
      continue;
    }
    const std::string file = archive_file(archive->second.id);
    const auto* letters = letters_in(file);
    if (letters == nullptr || sha256_hex(archive_.files().at(file)) != archive->second.sha256) {
      broken("its archive's file is gone, or not what was written: " + letter.id);
      continue;
    }
    const auto line = letters->find(letter.id);
    if (line == letters->end() || line->second != letter.replays) broken("not in its archive's file: " + letter.id);
  }
}

// Its newest bytes are those that it was taken in with.
void OfficeChecker::check_restored(std::int64_t seq, const Letter& letter) {
  coverage_.saw(OfficeSeen::kUnarchived);
  const auto read = store_.read([&](Connection& connection) -> Result<void> {
    const auto bytes = sql::one(
        connection,
        "SELECT l.payload_hash, p.bytes FROM letters l JOIN payloads p ON p.letter = l.seq AND p.life = l.payload_life"
        " WHERE l.seq = $1",
        [](Rows& r) { return std::pair(r.text(0), sha256(r.view(1))); }, seq);
    if (!bytes) return std::unexpected(bytes.error());
    const auto same = [&] {
      const std::string_view hash(reinterpret_cast<const char*>((*bytes)->second.data()), (*bytes)->first.size());
      return hash == (*bytes)->first;
    };
    if (!*bytes || !same()) broken("its bytes are others after its archive: " + letter.id);
    return {};
  });
  if (!read) broken("the store cannot be read: " + read.error().message);
}

void OfficeChecker::file_goes(const std::string& name) {
  for (const auto& [letter, archive] : now_.archived) {
    const auto row = now_.archives.find(archive);
    const auto state = now_.letters.find(letter);
    if (row != now_.archives.end() && archive_file(row->second.id) == name && state != now_.letters.end() &&
        state->second.state == LetterState::kArchived)
      return broken("a file is deleted whose letters are in it: " + state->second.id);
  }
}

void OfficeChecker::check_files_at_the_end() {
  std::map<std::string, std::set<std::string>> held;
  std::set<std::string> files;
  for (const auto& [seq, archive] : now_.archives) {
    held[archive.id];
    files.insert({archive_file(archive.id), archive_manifest(archive.id)});
  }
  for (const auto& [letter, archive] : now_.archived) {
    const auto row = now_.archives.find(archive);
    if (row != now_.archives.end()) held[row->second.id].insert(name_of(letter));
  }
  for (const auto& [id, letters] : held) {
    const auto* there = letters_in(archive_file(id));
    if (there == nullptr) {
      broken("an archive without its file: " + id);
      continue;
    }
    for (const auto& [letter, life] : *there)
      if (!letters.contains(letter)) broken("has left its archive and is still in its file: " + letter);
  }
  for (const auto& [name, bytes] : archive_.files())
    if (!files.contains(name)) broken("a file that belongs to no archive: " + name);
}

}  // namespace bartleby::sim
