// Named places where a test may have the process killed, as by kill -9: `death_point("write.committed")`.
//
// Test builds only: BARTLEBY_DIE_AT=write.committed:3 dies when it passes that place for the third time, and
// BARTLEBY_WAIT_AT=write.committed:FILE waits there, once, for as long as there is that file (20 s at most). Elsewhere
// it compiles to nothing. Any thread; what happens there happens at the place of the caller, between two statements.
#pragma once

#include <string_view>

namespace bartleby {

#ifdef BARTLEBY_TESTING
void death_point(std::string_view name);
#else
inline void death_point(std::string_view) {}
#endif

}  // namespace bartleby
