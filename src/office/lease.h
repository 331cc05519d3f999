// A lock with a time limit, for work that one office at a time does: table `lock`.
//
// Who dies with it loses it when its time is over, and who still works takes it again before that. Any thread.
#pragma once

#include <string>

#include "base/time.h"
#include "ports/store.h"

namespace bartleby {

// True: it is ours until `now + time`. The one who has it may take it again.
Result<bool> take_lease(Store& store, const std::string& name, const std::string& holder, Timestamp now, Duration time);
Result<void> release_lease(Store& store, const std::string& name, const std::string& holder);

}  // namespace bartleby
