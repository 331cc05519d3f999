#include "office/letter_parts.h"

#include <algorithm>

#include "office/mutants.h"

namespace bartleby {

std::optional<std::vector<LogRecord>> LetterParts::add(LogRecord record, const LetterPart& part, Instant now) {
  if (part.count > limits_.count) return std::vector{std::move(record)};
  const auto [which, fresh] = waiting_.try_emplace(
      office_mutant(OfficeMutant::kPartsJoinedAcrossLetters) ? std::to_string(part.count) : part.letter);
  Waiting& letter = which->second;
  if (fresh) letter.since = now;
  const std::size_t size = payload_size(record);
  letter.bytes += size;
  bytes_ += size;
  letter.seen[part.index] = true;
  letter.records.push_back(std::move(record));
  if (letter.seen.size() < part.count) return std::nullopt;
  return take(which);
}

std::optional<std::vector<LogRecord>> LetterParts::give_up(Instant now) {
  const auto which = oldest();
  if (which == waiting_.end()) return std::nullopt;
  if (bytes_ <= limits_.bytes && now < which->second.since + limits_.wait) return std::nullopt;
  return take(waiting_.find(which->first));
}

std::optional<Offset> LetterParts::first() const {
  std::optional<Offset> lowest;
  for (const auto& [id, letter] : waiting_)
    for (const LogRecord& record : letter.records) lowest = std::min(lowest.value_or(record.offset), record.offset);
  return lowest;
}

Instant LetterParts::next_wake() const {
  const auto which = oldest();
  return which == waiting_.end() ? kNever : which->second.since + limits_.wait;
}

void LetterParts::clear() {
  waiting_.clear();
  bytes_ = 0;
}

std::vector<LogRecord> LetterParts::take(Letters::iterator which) {
  std::vector<LogRecord> records = std::move(which->second.records);
  bytes_ -= which->second.bytes;
  waiting_.erase(which);
  return records;
}

LetterParts::Letters::const_iterator LetterParts::oldest() const {
  return std::ranges::min_element(
      waiting_, {}, [](const auto& one) { return std::pair(one.second.since, one.second.records.front().offset); });
}

}  // namespace bartleby
