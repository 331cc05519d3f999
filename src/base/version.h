// The version of this program, told by the build.
#pragma once

#include <string_view>

namespace bartleby {

constexpr std::string_view kVersion = BARTLEBY_VERSION;

}  // namespace bartleby
