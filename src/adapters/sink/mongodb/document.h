// What a collection holds of letters: one document per value of the key field, with all lives that it ever had.
//
//   {ticket_id, task_type, …fields of the message, dlq_metadata: {…}, processed_at, bartleby: {letter, …},
//    history: [{…an earlier life, as it was}], history_state: {revision, left_out}}
//
// Composing is a set union: lives are told apart by letter and replays, and stand by time of death, so that any order
// of writing, and writing twice, ends in the same document. A document that somebody else wrote is its oldest life. A
// value that is no JSON object, or has no usable key (a text of 1 to 512 bytes, or an integer), has the letter's id as
// its key. Bounded: the fields of old lives are left out before a document is too large, then the lives. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "adapters/sink/mongodb/handles.h"
#include "base/error.h"
#include "ports/sink.h"

namespace bartleby::mongodb {

struct DocumentLimits {
  std::size_t life = std::size_t{12} << 20;      // bytes of one life; above it, its fields are left out
  std::size_t document = std::size_t{15} << 20;  // MongoDB takes 16 MB
  std::size_t history = 1000;                    // lives
};

struct Life {
  // By death; somebody else's life has no letter and stands first.
  std::int64_t died = INT64_MIN;
  std::int64_t replays = 0;
  std::string letter;
  Bson document;

  bool same_as(const Life& other) const { return letter == other.letter && replays == other.replays; }
  bool operator<(const Life& other) const {
    return std::tie(died, replays, letter) < std::tie(other.died, other.replays, other.letter);
  }
};

// All of one key.
struct Lives {
  std::vector<Life> lives;  // in their order
  std::int64_t revision = 0;
  std::int64_t left_out = 0;

  // Whether it was not there yet.
  bool add(Life life);
};

// A life as a document, with its key under this name.
Life life_of(const SinkLetter& letter, const std::string& key, const DocumentLimits& limits);
// `{key: …}` as the document has it.
Bson key_of(const bson_t& document, const std::string& key);

// What a document of the collection says. kMalformed: it is no document of this kind.
Result<Lives> lives_of(const bson_t& document);
// The document of these, with that revision. Takes fields and lives away where it would be too large.
Bson document_of(Lives& lives, const std::string& key, std::int64_t revision, const DocumentLimits& limits);

}  // namespace bartleby::mongodb
