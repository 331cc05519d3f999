// JSON as BSON: the same value, or the nearest that BSON has, and then it says so.
//
// Integers of 64 bits stay exact, other numbers are doubles. Not the same are: numbers that a double does not hold
// (the nearest; text where there is none), names that MongoDB reads in its own way (`$` in front, `.`, NUL: replaced by
// characters that look alike), half a surrogate pair (replaced), names given twice (the last counts), what is nested
// deeper than MongoDB takes (text).
// Whoever needs such a value exactly keeps its text beside it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "adapters/sink/mongodb/handles.h"
#include "codec/json_tree.h"

namespace bartleby::mongodb {

constexpr int kMaxNesting = 80;  // MongoDB takes 100, of the whole document

class BsonWriter {
 public:
  void append(bson_t& to, std::string_view name, const JsonTree& value, int depth = 0);
  // What a quoted text says, as BSON may hold it: half of a surrogate pair is replaced.
  std::string text(std::string_view quoted);
  // A name as a field may be called.
  std::string field(std::string_view name);
  bool exact() const { return exact_; }
  void not_exact() { exact_ = false; }

 private:
  void append_number(bson_t& to, std::string_view name, const std::string& digits);

  bool exact_ = true;
};

// Which of the members counts for each name: the last. In their order.
std::vector<const JsonMember*> members_that_count(const JsonTree& object);

}  // namespace bartleby::mongodb
