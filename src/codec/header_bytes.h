// Headers as one column: for each its name and value with their lengths before them (LEB128; a value's length is
// one more than it is, and 0 for null). No headers are null, so most rows do not pay for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/record.h"

namespace bartleby {

std::optional<std::string> encode_headers(const Headers& headers);
std::optional<Headers> decode_headers(std::string_view bytes);  // nothing: damaged

}  // namespace bartleby
