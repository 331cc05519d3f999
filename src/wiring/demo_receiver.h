// The handler of `bartleby demo`: fails on purpose, and writes down every attempt before it answers.
//
// What it has seen lies in a file that outlives the process, one line an attempt, so that an account can be given after
// a kill -9 too. Which attempts fail depends on the order's number alone. Any thread; owns the file.
#pragma once

#include <bartleby/message.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace bartleby {

struct DemoAttempt {
  std::int64_t order = 0;
  int attempt = 1;
  bool replay = false;
  bool good = false;
};

// `{"order":17}`; nothing: it is none of the demo's.
std::optional<std::int64_t> demo_order(std::string_view value);
std::string demo_key(std::int64_t order);

class DemoReceiver {
 public:
  // Reads back what earlier processes have seen. kUnavailable: the file cannot be read or written.
  static Result<std::unique_ptr<DemoReceiver>> open(const std::string& path);
  ~DemoReceiver();
  DemoReceiver(const DemoReceiver&) = delete;
  DemoReceiver& operator=(const DemoReceiver&) = delete;

  Outcome handle(const Message& message, const Attempt& attempt);

  std::vector<DemoAttempt> attempts() const;  // in the order they happened
  std::int64_t handled() const;               // orders that were handled in their first lives

 private:
  explicit DemoReceiver(int file) : file_(file) {}
  void keep(const DemoAttempt& attempt);

  const int file_;
  mutable std::mutex mutex_;
  std::vector<DemoAttempt> attempts_;         // under the mutex
  std::map<std::int64_t, bool> first_lives_;  // under the mutex; handled by order
};

}  // namespace bartleby
