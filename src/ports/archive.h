// Where archives lie: whole files by name, written once, never changed, deleted when nobody needs them.
//
// Any thread. What `put` has answered is durable and there whole; a name that is put again is replaced, whole. Names
// are ours: small letters, digits, `_`, `.` and `-`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace bartleby {

class Archive {
 public:
  virtual ~Archive() = default;

  virtual Result<void> put(const std::string& name, std::string_view bytes) = 0;
  // kNotFound: there is none of that name. kTooLarge: it has more than `limit` bytes.
  virtual Result<std::string> get(const std::string& name, std::size_t limit) = 0;
  // kNotFound: there is none of that name.
  virtual Result<void> remove(const std::string& name) = 0;
};

}  // namespace bartleby
