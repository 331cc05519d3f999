// Archives hold what is archived in them and nothing else: a letter that was purged or restored leaves its file too.
//
// `LetterChanges` notes which archives letters have left. Here such an archive is written anew without them, under a
// new name, or removed when nothing is left in it. The new file is durable before the list names it; the old one, and
// one whose writer died before it was listed, is on a list of names to delete until it is deleted, so a crash anywhere
// leaves nothing behind. A file whose checksum is wrong is left alone and told; it, or one that cannot be written anew,
// holds up no other. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "ports/archive.h"
#include "ports/store.h"

namespace bartleby {

struct ArchiveUpkeep {
  std::size_t rewritten = 0, removed = 0;
  std::vector<std::string> damaged;  // ids of those that are not what was written
};

// Until `most` archives or more, fewer than twice as many, are rewritten or removed; the rest comes with the next call.
// An error is the first of those that came; what could be done beside it is done.
Result<ArchiveUpkeep> tidy_archives(Store& store, Archive& archive, std::size_t most, Timestamp now);

}  // namespace bartleby
