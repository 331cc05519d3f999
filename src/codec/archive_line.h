// A letter as one line of an archive (JSON Lines), and what a restore needs back from it.
//
// The line says what the letter was, for people and their tools, and has the bytes of all its lives exactly: text where
// it is UTF-8, {"base64": "…"} where not, null where there is none. Reading believes nothing: what is missing, of
// another type or too large refuses the line. Fields of a later version are skipped. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/stored_letter.h"

namespace bartleby {

constexpr std::size_t kMaxArchiveLine = std::size_t{256} << 20;  // a longer one is refused when it is read

std::string archive_line(const StoredLetter& letter, std::span<const LifeBytes> lives);  // with its line feed

struct ArchivedLetter {
  std::string id;
  std::uint32_t replays = 0;
  std::vector<LifeBytes> lives;
};
Result<ArchivedLetter> archived_letter(std::string_view line);

}  // namespace bartleby
