// Shelves on which nothing lies any more are freed, and with them rows of `dlq_summary` that count nothing.
//
// Any thread; each step is one transaction of bounded length. Kept are shelves and rows of registered consumers, and
// shelves that an earlier life of a letter or a sink's queue still names. Without this, names that change would use up
// all shelves for good (office/shelves.h). A step that fails leaves what it began; the next run does the rest.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ports/store.h"

namespace bartleby {

struct FreedShelves {
  std::int64_t shelves = 0;
  std::int64_t rows = 0;  // of the summary
};

struct ShelfSteps {
  std::int64_t slice = 500;  // shelves that one transaction looks at, rows that it deletes
  int slices = 100;          // of each in one run
};

Result<FreedShelves> free_shelves(Store& store, const ShelfSteps& steps = {});

}  // namespace bartleby
