// Journal entries as records: keys `m/{offset}`, `h/{lane}`, `x/{offset}/{incarnation}`; values JSON.
//
// The values are JSON so that a person with a console consumer can read them. Decoding trusts nothing:
// size, depth and every number are bounded, and anything else is an error, never a guess.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/journal.h"

namespace bartleby {

constexpr std::size_t kMaxErrorMessage = 1024;  // bytes kept of an error's text
constexpr std::size_t kMaxErrorStack = 500;     // characters kept of a stack
constexpr std::size_t kMaxErrorType = 200;      // bytes kept of an error's type

std::string journal_key(const JournalEntry& entry);
std::string journal_value(const JournalEntry& entry, const JournalStory& story);

struct DecodedEntry {
  JournalEntry entry;
  JournalStory story;
};

Result<DecodedEntry> decode_journal(std::string_view key, std::string_view value);

// Identifies an entry in the journal's check: covers every fact, not the text.
std::uint64_t fingerprint(const JournalEntry& entry);

// `error` cut to the limits above and made valid UTF-8 (invalid bytes become U+FFFD), cutting between characters.
ErrorText bounded(ErrorText error);

}  // namespace bartleby
