// Where letters are kept beside the office: a collection of documents, for people who look into failures later.
//
// A sink gets every life of every letter of its dlqs, at least once and in any order. Writing the same life again
// changes nothing: that is the sink's own work, and what lets the office repeat a batch whenever it is in doubt. One
// thread at a time; a call may wait for a server, but not for long. `write` fails as a whole (kUnavailable: nobody
// knows what of it is there) or says which letters were refused for what they are; the others are durable then.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/stored_letter.h"

namespace bartleby {

// One life of a letter. `letter.id` is that of the stored letter, the same for all its lives; `letter.replays` is this
// life's. What the store alone knows (seq, state, version, issue) is not set.
struct SinkLetter {
  StoredLetter letter;
  LetterPayload payload;
  Timestamp published_at;  // when its record came into the dlq
};

struct RefusedLetter {
  std::size_t index = 0;  // in what was written
  std::string why;
};

class Sink {
 public:
  virtual ~Sink() = default;

  // What must be there before the first letter (indexes); called again until it succeeds.
  virtual Result<void> prepare() = 0;
  virtual Result<std::vector<RefusedLetter>> write(std::span<const SinkLetter> letters) = 0;
};

}  // namespace bartleby
