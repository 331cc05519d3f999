// Files that are there whole or not at all: a crash in the middle leaves what was there before.
//
// Any thread; two writers of one path are the caller's mistake. Fails with kUnavailable (the disk is full, no
// permission), and then nothing has changed under that name.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace bartleby {

// What a crash in the middle leaves has this at the end of its name; the next writer of that path writes over it.
constexpr const char* kUnfinished = ".new";

// Durable when it returns: the bytes, and the name in its folder.
Result<void> write_whole_file(const std::filesystem::path& path, std::string_view bytes, mode_t mode);

// kNotFound: there is none. kTooLarge: it has more than `limit` bytes.
Result<std::string> read_whole_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace bartleby
