// What came back for one POST: an answer, or why there is none. Bounded by whoever reads it from the wire.
//
// Only the headers that the push protocol knows are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bartleby {

enum class Transport : std::uint8_t {
  kReplied,          // status and headers are whole; the body may be cut
  kDeadline,         // no whole answer by the attempt's deadline; the connection is closed
  kConnectTimeout,   // nobody accepted the connection
  kUnresolved,       // the name has no address
  kRefused,          // no connection
  kPrivate,          // the guard against private addresses refused every address
  kTls,              // the handshake failed
  kUntrusted,        // the certificate is not trusted, or of somebody else
  kReset,            // the connection ended before the answer did
  kNotHttp,          // what came is no HTTP/1 answer
  kHeadersTooLarge,  // of the answer
  kOverloaded,       // this process had no room for it (queue, file descriptors, memory for answers)
  kStopped,          // this process is stopping
  kOther,
};

struct HttpReply {
  Transport transport = Transport::kOther;
  std::string detail;  // for people, where there is no answer
  int status = 0;
  std::string content_type;  // lower case, without parameters
  std::string outcome;       // Bartleby-Outcome, lower case
  bool outcome_twice = false;
  std::string error_type;  // Bartleby-Error-Type
  std::string retry_after;
  std::string body;
  bool body_cut = false;
};

constexpr std::size_t kMaxReplyHeaders = std::size_t{64} << 10;
constexpr std::size_t kMaxReplyBody = std::size_t{64} << 10;     // read; then the connection is closed
constexpr std::size_t kMaxPlainBody = std::size_t{4} << 10;      // kept of it, where only its beginning is of use
constexpr std::size_t kMaxEmitDocument = std::size_t{16} << 20;  // 8 MB of records as base64, with room for the rest
constexpr char kEmitType[] = "application/vnd.bartleby.emit+json";
constexpr char kProblemType[] = "application/problem+json";

}  // namespace bartleby
