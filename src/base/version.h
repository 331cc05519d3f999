// The version of this program, told by the build.
// The one place that names it.
#pragma once

#include <string_view>

namespace bartleby {

constexpr std::string_view kVersion = BARTLEBY_VERSION;

}  // namespace bartleby
