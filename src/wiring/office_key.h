// The key that signs replays: made at the first start and kept in the data folder, readable by its owner alone.
//
// Workers of the same process verify with it. A file that is not what was written is refused with its name: a new key
// would turn replays that are on their way into ordinary messages.
#pragma once

#include <string>

#include "codec/replay_header.h"

namespace bartleby {

Result<OfficeKey> office_key(const std::string& data_dir);

// 64 random bits as 16 hexadecimal digits.
std::string random_hex();

}  // namespace bartleby
