// The first API key: with keys and none among them that may administrate, nobody could make one.
//
// Looked at when the process starts. The key is written to `first-admin.key` in the data folder, readable by the owner
// alone, and the log says so; revoke it when there are others. Also the way back in after the last one was lost.
#pragma once

#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "ports/store.h"

namespace bartleby {

Result<void> first_admin_key(Store& store, const std::string& data_dir, const Clock& clock, Log& log);

}  // namespace bartleby
