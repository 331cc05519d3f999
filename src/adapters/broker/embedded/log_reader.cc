#include "adapters/broker/embedded/log_reader.h"

#include "adapters/broker/embedded/log_file.h"
#include "codec/header_bytes.h"

namespace bartleby::embedded {

Result<LogReader> LogReader::open(const std::string& path) {
  auto opened = sqlite::Database::open(path, sqlite::Open::kReadOnly);
  if (!opened) return std::unexpected(opened.error());
  LogReader reader;
  reader.db_ = std::move(*opened);
  if (auto set = reader.db_.exec("PRAGMA cache_size=-4096; PRAGMA query_only=1"); !set)
    return std::unexpected(set.error());
  auto read = reader.db_.prepare(
      "SELECT position, timestamp, key, value, headers FROM records WHERE position >= ? AND position < ?"
      " ORDER BY position LIMIT ?");
  if (!read) return std::unexpected(read.error());
  reader.read_ = std::move(*read);
  return reader;
}

Result<Slice> LogReader::read(std::int64_t partition, Offset from, Offset stop, std::size_t records, std::size_t bytes,
                              const LaneFilter& filter) {
  Slice slice{{}, stop, 0};
  if (from >= stop) {
    slice.next = from;
    return slice;
  }
  read_.bind(1, position_of(partition, from));
  read_.bind(2, position_of(partition, stop));
  read_.bind(3, static_cast<std::int64_t>(records));
  const sqlite::Reading reading(read_);
  std::size_t seen = 0, seen_bytes = 0;
  Offset last = from;
  for (;;) {
    const auto stepped = read_.step();
    if (!stepped) return std::unexpected(stepped.error());
    if (*stepped == sqlite::Step::kDone) break;
    LogRecord record{offset_of(read_.integer(0)), timestamp_ms(read_.integer(1)), {}, {}, {}};
    last = record.offset;
    if (!read_.is_null(2)) record.key.emplace(read_.bytes(2));
    if (!read_.is_null(3)) record.value.emplace(read_.bytes(3));
    if (!read_.is_null(4)) {
      auto headers = decode_headers(read_.bytes(4));
      if (!headers) return fail(ErrorCode::kMalformed, "damaged headers at offset " + std::to_string(record.offset.v));
      record.headers = std::move(*headers);
    }
    const std::size_t size = payload_size(record);
    ++seen;
    seen_bytes += size;
    if (!filter || filter(record)) {
      slice.bytes += size;
      slice.records.push_back(std::move(record));
    }
    if (seen_bytes >= bytes) {
      slice.next = next(last);
      return slice;
    }
  }
  if (seen == records) slice.next = next(last);
  return slice;
}

}  // namespace bartleby::embedded
