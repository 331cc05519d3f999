#include "adapters/handler/http/push_answer.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>

#include "codec/emit.h"
#include "codec/journal.h"
#include "codec/problem.h"
#include "codec/utf8.h"

namespace bartleby {
namespace {

constexpr Duration kLongestWait = std::chrono::hours(24 * 365);
constexpr Duration kOverloadPause = std::chrono::seconds(1);
constexpr std::size_t kShownBytes = 200;

Decision retry(Kind kind, std::string type, std::string message) {
  Decision d;
  d.fate = Fate::kRetry;
  d.kind = kind;
  d.error = bounded({std::move(type), std::move(message), {}});
  return d;
}

Decision no_reply(const HttpReply& reply) {
  const std::string& why = reply.detail;
  switch (reply.transport) {
    case Transport::kDeadline:
      return retry(Kind::kTimeout, "Timeout", why.empty() ? "no answer by the deadline" : why);
    case Transport::kConnectTimeout:
      return retry(Kind::kUnavailable, "ConnectTimeout", why);
    case Transport::kUnresolved:
      return retry(Kind::kUnavailable, "UnknownHost", why);
    case Transport::kRefused:
      return retry(Kind::kUnavailable, "ConnectFailed", why);
    case Transport::kTls:
      return retry(Kind::kUnavailable, "TlsFailed", why);
    case Transport::kPrivate:
      return retry(Kind::kConfig, "PrivateAddress", why);
    case Transport::kUntrusted:
      return retry(Kind::kConfig, "CertificateNotTrusted", why);
    case Transport::kNotHttp:
      return retry(Kind::kConfig, "NotHttp", why);
    case Transport::kHeadersTooLarge:
      return retry(Kind::kConfig, "HeadersTooLarge", why);
    case Transport::kOverloaded: {
      Decision d = retry(Kind::kThrottled, "Overloaded", why);  // not the message's fault: no attempt is used
      d.after = kOverloadPause;
      return d;
    }
    case Transport::kReset:
      return retry(Kind::kTransient, "ConnectionReset", why);
    case Transport::kStopped:
      return retry(Kind::kTransient, "Stopped", why);
    case Transport::kReplied:
    case Transport::kOther:
      break;
  }
  return retry(Kind::kTransient, "TransferFailed", why);
}

// The beginning of a body as one line for people.
std::string shown(std::string_view body) {
  std::string line;
  for (const char c : body) {
    if (line.size() >= 2 * kShownBytes) break;  // the cut to characters comes below
    const auto byte = static_cast<unsigned char>(c);
    if (byte == '\n' || byte == '\r' || byte == '\t' || byte == ' ') {
      if (!line.empty() && line.back() != ' ') line += ' ';
    } else if (byte >= 0x20 && byte != 0x7f) {
      line += c;
    }
  }
  clean_utf8_in_place(line, {.bytes = kShownBytes});
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

ErrorText error_of(const HttpReply& reply) {
  ErrorText error;
  if (reply.content_type == kProblemType)
    if (std::optional<ErrorText> problem = error_from_problem(reply.body)) error = std::move(*problem);
  if (error.type.empty()) error.type = reply.error_type;
  if (error.type.empty()) error.type = "HTTP " + std::to_string(reply.status);
  if (error.message.empty()) error.message = shown(reply.body);
  return bounded(std::move(error));
}

// Of a status that is tried again.
Kind kind_of(int status) {
  switch (status) {
    case 408:
    case 504:
      return Kind::kTimeout;
    case 502:
    case 503:
      return Kind::kUnavailable;
    case 409:
    case 425:
      return Kind::kTransient;
    default:
      return status >= 500 ? Kind::kTransient : Kind::kConfig;
  }
}

Decision config_fault(std::string type, std::string message) {
  return retry(Kind::kConfig, std::move(type), std::move(message));
}

Decision finished(const HttpReply& reply, Fate fate) {
  Decision d;
  d.fate = fate;
  if (fate != Fate::kDone) d.error = error_of(reply);
  if (reply.status != 200 || reply.content_type != kEmitType) return d;
  if (reply.body_cut)
    return config_fault("EmitTooLarge",
                        "the emit document has more than " + std::to_string(kMaxEmitDocument) + " bytes");
  Result<std::vector<Record>> records = emit_from_json(reply.body);
  if (!records) return config_fault("EmitMalformed", records.error().message);
  d.emit = std::move(*records);
  return d;
}

Decision rejected(const HttpReply& reply) {
  Decision d;
  d.fate = Fate::kReject;
  d.kind = Kind::kPermanent;
  d.reason = Reason::kRejected;
  d.error = error_of(reply);
  return d;
}

Decision again(const HttpReply& reply, Kind kind, std::optional<Duration> after) {
  Decision d;
  d.fate = Fate::kRetry;
  d.kind = kind;
  d.after = after;
  d.error = error_of(reply);
  return d;
}

PushVerdict by_outcome(const HttpReply& reply, std::optional<Duration> after) {
  const std::string& outcome = reply.outcome;
  if (reply.outcome_twice) return {false, config_fault("BadOutcome", "Bartleby-Outcome is given twice")};
  if (outcome == "pending") {
    if (reply.status == 202) return {true, {}};
    return {false, config_fault("BadOutcome",
                                "Bartleby-Outcome: pending needs status 202, not " + std::to_string(reply.status))};
  }
  if (outcome == "done") return {false, finished(reply, Fate::kDone)};
  if (outcome == "skip") return {false, finished(reply, Fate::kSkip)};
  if (outcome == "logical-failure") return {false, finished(reply, Fate::kLogicalFailure)};
  if (outcome == "reject") return {false, rejected(reply)};
  if (outcome == "retry") {
    // Asked for in so many words: then it is no mistake in the set-up, whatever the status.
    const Kind kind = kind_of(reply.status);
    return {false, again(reply, kind == Kind::kConfig ? Kind::kTransient : kind, after)};
  }
  return {false, config_fault("BadOutcome", "unknown Bartleby-Outcome: " + shown(outcome))};
}

}  // namespace

std::optional<Duration> retry_after(std::string_view text, Timestamp now) {
  if (text.empty() || text.size() > 64) return std::nullopt;
  if (std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    std::int64_t seconds = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (error != std::errc()) return kLongestWait;  // more digits than fit
    return std::min(seconds, kLongestWait / std::chrono::seconds(1)) * std::chrono::seconds(1);
  }
  const std::time_t date = curl_getdate(std::string(text).c_str(), nullptr);
  if (date < 0) return std::nullopt;
  return std::clamp(timestamp_ms(std::int64_t{date} * 1000) - now, Duration(0), kLongestWait);
}

PushVerdict push_verdict(const HttpReply& reply, const std::vector<int>& reject, Timestamp now) {
  if (reply.transport != Transport::kReplied) return {false, no_reply(reply)};
  const std::optional<Duration> after = retry_after(reply.retry_after, now);
  if (!reply.outcome.empty()) return by_outcome(reply, after);
  const int status = reply.status;
  if (status >= 200 && status < 300) return {false, finished(reply, Fate::kDone)};
  if (std::ranges::find(reject, status) != reject.end()) return {false, rejected(reply)};
  if (status == 429 || (status == 503 && after)) return {false, again(reply, Kind::kThrottled, after)};
  return {false, again(reply, kind_of(status), after)};
}

}  // namespace bartleby
