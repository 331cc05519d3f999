// Letters that came in parts, until all of them are there. Pure; belongs to one partition of a dlq.
//
// Parts wait in memory: the position in the dlq stays below the first of them, so nothing is lost with the process.
// Bounded by bytes and by time: what gets too old or too much is handed out as it is, one raw letter for each part.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "codec/letter.h"

namespace bartleby {

struct PartLimits {
  std::size_t bytes = std::size_t{128} << 20;  // of all parts that wait
  std::size_t count = 4096;                    // parts of one letter
  Duration wait{std::chrono::minutes(10)};
};

class LetterParts {
 public:
  explicit LetterParts(const PartLimits& limits) : limits_(limits) {}

  // A letter's records, when this one was the last. `part` is what the record says.
  std::optional<std::vector<LogRecord>> add(LogRecord record, const LetterPart& part, Instant now);

  // The oldest letter whose time or whose room is over; nothing where all may wait.
  std::optional<std::vector<LogRecord>> give_up(Instant now);

  std::optional<Offset> first() const;  // the lowest offset that waits
  Instant next_wake() const;            // when the oldest one's time is over
  void clear();

 private:
  struct Waiting {
    Instant since;
    std::vector<LogRecord> records;
    std::map<std::size_t, bool> seen;
    std::size_t bytes = 0;
  };
  using Letters = std::map<std::string, Waiting>;
  std::vector<LogRecord> take(Letters::iterator which);
  Letters::const_iterator oldest() const;

  const PartLimits limits_;
  Letters waiting_;
  std::size_t bytes_ = 0;
};

}  // namespace bartleby
