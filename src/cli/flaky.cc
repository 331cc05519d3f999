#include "cli/flaky.h"

#include <algorithm>
#include <charconv>

#include "base/hash.h"
#include "cli/text.h"
#include "codec/json_text.h"
#include "codec/percent.h"

namespace bartleby::cli {
namespace {

constexpr std::size_t kMaxHead = std::size_t{64} * 1024;
constexpr std::size_t kMaxBody = std::size_t{64} << 20;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

void write_problem(std::string& body, const ReceivedRequest& request) {
  JsonObject problem(body);
  problem.text("type", "FailedOnPurpose");
  problem.text("title", "this receiver fails now and then");
  problem.text("detail", "attempt " + (request.attempt.empty() ? std::string("?") : request.attempt));
  problem.number("status", 500);
}

std::string problem_body(const ReceivedRequest& request) {
  std::string body;
  write_problem(body, request);  // which closes the object
  return body;
}

}  // namespace

std::optional<double> percent_from(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  double percent = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (failed != std::errc() || end != text.data() + text.size() || !(percent >= 0 && percent <= 100))
    return std::nullopt;
  return percent / 100;
}

bool fails(const Flaky& flaky, const ReceivedRequest& request, std::uint64_t nth) {
  std::uint64_t h = combine(flaky.seed, request.id.empty() ? nth : hash64(request.id));
  h = combine(h, hash64(request.attempt));
  return static_cast<double>(h >> 11) * 0x1.0p-53 < flaky.fail;
}

std::string answer_to(const ReceivedRequest& request, int status) {
  std::string body;
  std::string_view type = "application/json";
  std::string_view reason = "OK";
  if (status == 200) {
    body = "{\"ok\":true}";
  } else if (status == 500) {
    reason = "Internal Server Error";
    type = "application/problem+json";
    body = problem_body(request);
  } else {
    reason = status == 413 ? "Content Too Large" : "Bad Request";
  }
  std::string out = "HTTP/1.1 " + std::to_string(status) + " " + std::string(reason) + "\r\n";
  if (!body.empty()) out += "Content-Type: " + std::string(type) + "\r\n";
  out += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  if (!request.keep) out += "Connection: close\r\n";
  return out + "\r\n" + (request.method == "HEAD" ? "" : body);
}

std::string request_line(const ReceivedRequest& request, Timestamp at, std::string_view answer) {
  std::string line = clock_text(at) + "  " + shown(request.method) + " " + cut(shown(request.target), 60);
  if (!request.topic.empty())
    line += "  " + shown(request.topic) + " " + shown(request.partition) + ":" + shown(request.offset);
  if (!request.key.empty()) line += "  key " + cut(shown(request.key), 40);
  line += "  " + std::to_string(request.body) + " B";
  if (!request.attempt.empty()) line += "  attempt " + shown(request.attempt);
  return line + "  " + std::string(answer);
}

RequestReader::Got RequestReader::read_head(std::string_view head) {
  request_ = {};
  const std::size_t first_end = head.find('\n');
  const std::string_view first = trimmed(head.substr(0, first_end));
  const std::size_t space = first.find(' ');
  const std::size_t version = first.rfind(' ');
  if (space == std::string_view::npos || version <= space || !first.substr(version + 1).starts_with("HTTP/1."))
    return Got::kBad;
  request_.method = first.substr(0, space);
  request_.target = first.substr(space + 1, version - space - 1);
  request_.keep = first.ends_with("1.1");
  std::string_view rest = head.substr(std::min(first_end + 1, head.size()));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest = rest.substr(std::min(end + 1, rest.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return Got::kBad;
    const std::string name = lower(line.substr(0, colon));
    const std::string value(trimmed(line.substr(colon + 1)));
    if (name == "content-length") {
      const auto [stop, failed] = std::from_chars(value.data(), value.data() + value.size(), request_.body);
      if (failed != std::errc() || stop != value.data() + value.size()) return Got::kBad;
      if (request_.body > kMaxBody) return Got::kTooLarge;
    } else if (name == "transfer-encoding") {
      return Got::kBad;  // who sends messages knows how long they are
    } else if (name == "connection") {
      if (lower(value) == "close") request_.keep = false;
    } else if (name == "expect") {
      request_.expects_continue = lower(value) == "100-continue";
    } else if (name == "webhook-id") {
      request_.id = value;
    } else if (name == "bartleby-key") {
      request_.key = percent_decoded(value).value_or(std::string(value));
    } else if (name == "bartleby-topic") {
      request_.topic = value;
    } else if (name == "bartleby-partition") {
      request_.partition = value;
    } else if (name == "bartleby-offset") {
      request_.offset = value;
    } else if (name == "bartleby-attempt") {
      request_.attempt = value;
    }
  }
  left_ = request_.body;
  return Got::kHead;
}

RequestReader::Got RequestReader::next() {
  if (!left_) {
    // The empty line ends a head; a lone line feed is taken for one too.
    std::size_t end = buffer_.find("\r\n\r\n");
    std::size_t after = end + 4;
    if (end == std::string::npos) {
      end = buffer_.find("\n\n");
      after = end + 2;
    }
    if (end == std::string::npos) return buffer_.size() > kMaxHead ? Got::kTooLarge : Got::kMore;
    if (end > kMaxHead) return Got::kTooLarge;
    const std::string head = buffer_.substr(0, end);
    buffer_.erase(0, after);
    return read_head(head);
  }
  const std::size_t taken = std::min(*left_, buffer_.size());
  buffer_.erase(0, taken);
  *left_ -= taken;
  if (*left_ > 0) return Got::kMore;
  left_.reset();
  return Got::kRequest;
}

}  // namespace bartleby::cli
