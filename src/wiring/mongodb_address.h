// What a MongoDB address must and may not say, as far as it can be told without MongoDB's library, which may be absent.
//
// Pure. The rest of an address is for the library, which has options without number.
#pragma once

#include <string>
#include <string_view>

namespace bartleby {

bool is_mongodb_address(std::string_view url);

// The option by which a write counts as done before it is; empty: there is none.
std::string unacknowledged(std::string_view url);

}  // namespace bartleby
