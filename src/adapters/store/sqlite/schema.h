// The tables of office.db: numbered migrations, forward only.
//
// Each runs in a transaction of its own together with the new number (PRAGMA user_version), so a crash leaves the
// file at one number or the next. A file with a higher number than this program knows is refused. A migration that
// was released is never changed: the next one is added.
#pragma once

#include <span>
#include <string_view>

namespace bartleby::sqlite_store {

std::span<const std::string_view> migrations();  // the first makes version 1

}  // namespace bartleby::sqlite_store
