// The records that a handler in another process wants written with its outcome:
// `{"emit":[{"topic":"t","key":…,"value":… or "base64":"…","headers":[["name",…],…]},…]}`.
//
// Bytes are a string, `{"base64":"…"}` or null. A record without `value` and `base64` is refused; a tombstone says
// `"value":null`. Unknown members are refused too: a misspelt one would be lost in silence. Never more than
// `kMaxEmitRecords` records and `kMaxEmitBytes` bytes. An error names the place as a JSON pointer.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.h"
#include "model/outcome.h"

namespace bartleby {

Result<std::vector<Record>> emit_from_json(std::string_view json);

}  // namespace bartleby
