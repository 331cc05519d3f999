// The store in one SQLite file, `office.db` in the data folder: write-ahead log, one connection that writes, a few
// that read.
//
// Any thread. It owns the file's lock (`office.lock`: one process at a time) and the connections; a reader's is opened
// when it is first needed, and who comes when all are busy waits for a while, and then gets kUnavailable. Durable when
// `write` returns (synchronous=FULL). When the disk is full or broken, writing fails with kUnavailable and SQLite's
// words, and works again as soon as the disk does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/lock_file.h"
#include "ports/store.h"

namespace bartleby::sqlite_store {

class SqliteConnection;

struct Options {
  std::string folder;
  std::size_t readers = 4;
  std::chrono::milliseconds reader_wait{30000};
  std::int64_t max_pages = 0;  // of the file; 0: as large as it gets
  bool durable = true;         // false: nothing waits for the disk; for files that live as long as a test
};

class SqliteStore : public Store {
 public:
  // Fails with kFenced if another process has the file (the message names its pid), with kMalformed if it is damaged,
  // with kUnsupported if a newer version or another program wrote it.
  static Result<std::unique_ptr<SqliteStore>> open(const Options& options);
  ~SqliteStore() override;

  Result<void> write(const Work& work) override;
  Result<void> read(const Work& work) override;

 private:
  SqliteStore(Options options, LockFile lock);
  Result<std::unique_ptr<SqliteConnection>> reader();
  void give_back(std::unique_ptr<SqliteConnection> connection);

  const Options options_;
  const std::string path_;
  const LockFile lock_;
  std::mutex writing_;
  std::unique_ptr<SqliteConnection> writer_;
  std::mutex mutex_;
  std::condition_variable free_;
  std::vector<std::unique_ptr<SqliteConnection>> idle_;  // under the mutex
  std::size_t opened_ = 0;
};

}  // namespace bartleby::sqlite_store
