// Reads records out of log.db on a connection of its own, in slices: writing goes on meanwhile.
//
// One thread at a time. Where to stop is the caller's knowledge: the file may already hold more than it may see.
#pragma once

#include <string>
#include <vector>

#include "adapters/sqlite/sqlite.h"
#include "ports/broker.h"

namespace bartleby::embedded {

struct Slice {
  std::vector<LogRecord> records;
  Offset next;            // everything below it was handed out or does not exist
  std::size_t bytes = 0;  // of the records
};

class LogReader {
 public:
  static Result<LogReader> open(const std::string& path);

  // Records in [from, stop) that pass the filter; looks at no more than these limits, but at one record.
  Result<Slice> read(std::int64_t partition, Offset from, Offset stop, std::size_t records, std::size_t bytes,
                     const LaneFilter& filter);

 private:
  sqlite::Database db_;
  sqlite::Statement read_;
};

}  // namespace bartleby::embedded
