// What the receiver of `bartleby receiver` reads and answers, without sockets: HTTP requests out of bytes, and which
// of them fail on purpose.
//
// Whether an attempt fails depends on the seed, the message's id and the attempt's number alone, never on the order in
// which requests arrive: a run can be repeated. Heads are at most 64 KB, bodies 64 MB; they are counted, not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace bartleby::cli {

struct Flaky {
  double fail = 0;  // 0 to 1
  Duration slow{0};
  std::uint64_t seed = 1;
};

// `20%` or `20`: of a hundred.
std::optional<double> percent_from(std::string_view text);

struct ReceivedRequest {
  std::string method, target;
  std::string id, key, topic, partition, offset, attempt;  // as the headers say; empty where they do not
  std::size_t body = 0;
  bool keep = true;  // the connection
  bool expects_continue = false;
};

// `nth` stands for the id of a request that has none.
bool fails(const Flaky& flaky, const ReceivedRequest& request, std::uint64_t nth);

std::string answer_to(const ReceivedRequest& request, int status);
// One line about it, without its end.
std::string request_line(const ReceivedRequest& request, Timestamp at, std::string_view answer);

class RequestReader {
 public:
  enum class Got : std::uint8_t { kMore, kHead, kRequest, kBad, kTooLarge };

  void add(std::string_view bytes) { buffer_ += bytes; }
  // kHead: a body follows, and the sender may wait to be told to go on. kRequest: one is complete. Call again after
  // both.
  Got next();
  const ReceivedRequest& request() const { return request_; }

 private:
  Got read_head(std::string_view head);

  std::string buffer_;
  ReceivedRequest request_;
  std::optional<std::size_t> left_;  // of the body; absent while a head is read
};

}  // namespace bartleby::cli
