#include "adapters/handler/http/http_transfer.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "adapters/handler/http/address_guard.h"
#include "adapters/handler/http/http_target.h"

namespace bartleby {
namespace {

constexpr long kReceiveBuffer = 8 << 10;  // one per transfer, and there can be thousands
constexpr long kSendBuffer = 16 << 10;
constexpr char kPrivateText[] = "the address is private or reserved, and allow_private is off";

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), lower);
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t from = text.find_first_not_of(kBlank);
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(kBlank) - from + 1);
}

Transport transport_of(CURLcode code, bool deadline_passed) {
  switch (code) {
    case CURLE_OK:
      return Transport::kReplied;
    case CURLE_OPERATION_TIMEDOUT:
      return deadline_passed ? Transport::kDeadline : Transport::kConnectTimeout;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return Transport::kUnresolved;
    case CURLE_COULDNT_CONNECT:
      return Transport::kRefused;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
      return Transport::kUntrusted;
    case CURLE_SSL_CONNECT_ERROR:
      return Transport::kTls;
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
      return Transport::kReset;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:  // a first line that is no status line
      return Transport::kNotHttp;
    case CURLE_OUT_OF_MEMORY:  // what libcurl says of a header line beyond its own limit
      return Transport::kHeadersTooLarge;
    default:
      return Transport::kOther;
  }
}

}  // namespace

bool HttpTransfer::prepare(std::shared_ptr<HttpTarget> target, HttpRequest request, HttpDone done, Duration left) {
  target_ = std::move(target);
  request_ = std::move(request);
  done_ = std::move(done);
  if (!easy_) easy_.reset(curl_easy_init());
  if (!easy_) return false;
  bool ok = configured_for_ == target_->id || configure();
  CURL* e = easy_.get();
  const auto set = [&](CURLoption option, auto value) { ok = ok && curl_easy_setopt(e, option, value) == CURLE_OK; };
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request_.body.size()));
  set(CURLOPT_POSTFIELDS, request_.body.empty() ? "" : request_.body.data());
  set(CURLOPT_HTTPHEADER, header_list());
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(std::clamp<std::int64_t>(left.count(), 1, INT32_MAX)));
  if (ok) {
    resolving_ = true;
    ++target_->resolving;
  }
  return ok;
}

// A list of our own making, not libcurl's: that one copies every line. libcurl only reads it.
curl_slist* HttpTransfer::header_list() {
  headers_.clear();
  for (std::size_t at = 0; at < request_.headers.size(); at = request_.headers.find('\0', at) + 1)
    headers_.push_back({request_.headers.data() + at, nullptr});
  for (std::size_t i = 1; i < headers_.size(); ++i) headers_[i - 1].next = &headers_[i];
  return headers_.empty() ? nullptr : headers_.data();
}

// Everything that is the same for all requests to this target; nothing stays of another one.
bool HttpTransfer::configure() {
  configured_for_ = 0;
  CURL* e = easy_.get();
  curl_easy_reset(e);
  const HttpTargetOptions& o = target_->options;
  bool ok = true;
  const auto set = [&](CURLoption option, auto value) { ok = ok && curl_easy_setopt(e, option, value) == CURLE_OK; };
  set(CURLOPT_URL, o.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, o.proxy.c_str());  // empty: none, whatever the environment says
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L);  // else ending it while its name is being resolved blocks the loop until that is over
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_POST, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(std::max<std::int64_t>(1, o.connect_timeout.count())));
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_BUFFERSIZE, kReceiveBuffer);
  set(CURLOPT_UPLOAD_BUFFERSIZE, kSendBuffer);
  if (!o.ca_file.empty()) set(CURLOPT_CAINFO, o.ca_file.c_str());
  set(CURLOPT_ERRORBUFFER, error_.data());
  set(CURLOPT_PRIVATE, static_cast<void*>(this));
  set(CURLOPT_OPENSOCKETFUNCTION, &HttpTransfer::open_socket);
  set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
  set(CURLOPT_PREREQFUNCTION, &HttpTransfer::before_request);
  set(CURLOPT_PREREQDATA, static_cast<void*>(this));
  set(CURLOPT_HEADERFUNCTION, &HttpTransfer::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &HttpTransfer::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  if (ok) configured_for_ = target_->id;
  return ok;
}

void HttpTransfer::release() {
  resolved();
  budget_.left += borrowed_;
  borrowed_ = header_bytes_ = body_bytes_ = 0;
  headers_.clear();
  target_.reset();
  request_ = {};
  done_ = nullptr;
  reply_ = {};
  given_up_ = no_socket_ = Transport::kReplied;
  in_headers_ = headers_whole_ = opened_ = false;
  error_[0] = '\0';
}

void HttpTransfer::resolved() {
  if (resolving_) --target_->resolving;
  resolving_ = false;
}

HttpReply HttpTransfer::result(CURLcode code, bool deadline_passed) {
  resolved();
  HttpReply reply = std::move(reply_);
  reply.transport = transport_of(code, deadline_passed);
  if (given_up_ != Transport::kReplied) {
    reply.transport = given_up_;
  } else if (code == CURLE_COULDNT_CONNECT && !opened_ && no_socket_ != Transport::kReplied) {
    reply.transport = no_socket_;
    reply.detail = no_socket_ == Transport::kPrivate ? kPrivateText : "no file descriptor left for a connection";
  } else if (reply.body_cut && code == CURLE_WRITE_ERROR) {
    reply.transport = Transport::kReplied;  // what was needed of it had arrived
  }
  if (reply.transport == Transport::kReplied && !headers_whole_) reply.transport = Transport::kNotHttp;
  if (reply.transport != Transport::kReplied && reply.detail.empty())
    reply.detail = error_[0] != '\0' ? error_.data() : curl_easy_strerror(code);
  return reply;
}

// ---- called by libcurl -------------------------------------------------------------------------------

curl_socket_t HttpTransfer::open_socket(void* self, curlsocktype, curl_sockaddr* address) {
  auto& t = *static_cast<HttpTransfer*>(self);
  t.resolved();
  const HttpTargetOptions& o = t.target_->options;
  if (!o.allow_private && o.proxy.empty() && !is_public_address(&address->addr)) {
    t.no_socket_ = Transport::kPrivate;
    return CURL_SOCKET_BAD;
  }
  const int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd < 0) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
      t.no_socket_ = Transport::kOverloaded;
    return CURL_SOCKET_BAD;
  }
  t.opened_ = true;
  ++t.connections_made_;
  return fd;
}

// Also for a connection that another target made: to the same host, but perhaps with private addresses allowed.
int HttpTransfer::before_request(void* self, char* remote, char*, int, int) {
  auto& t = *static_cast<HttpTransfer*>(self);
  t.resolved();
  const HttpTargetOptions& o = t.target_->options;
  if (o.allow_private || !o.proxy.empty() || is_public_address(std::string_view(remote))) return CURL_PREREQFUNC_OK;
  t.given_up_ = Transport::kPrivate;
  t.reply_.detail = kPrivateText;
  return CURL_PREREQFUNC_ABORT;
}

std::size_t HttpTransfer::on_header(char* bytes, std::size_t, std::size_t size, void* self) {
  return static_cast<HttpTransfer*>(self)->header_line({bytes, size}) ? size : CURL_WRITEFUNC_ERROR;
}

std::size_t HttpTransfer::on_body(char* bytes, std::size_t, std::size_t size, void* self) {
  return static_cast<HttpTransfer*>(self)->body_bytes({bytes, size}) ? size : CURL_WRITEFUNC_ERROR;
}

bool HttpTransfer::header_line(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > kMaxReplyHeaders) {
    given_up_ = Transport::kHeadersTooLarge;
    reply_.detail = "more than " + std::to_string(kMaxReplyHeaders) + " bytes of headers";
    return false;
  }
  if (!in_headers_) {
    if (body_bytes_ > 0 || (headers_whole_ && reply_.status >= 200)) return true;  // trailers decide nothing
    in_headers_ = line.starts_with("HTTP/");
    headers_whole_ = false;
    reply_ = {};
    const std::string_view status = line.substr(std::min(line.size(), line.find(' ') + 1));
    std::from_chars(status.data(), status.data() + std::min<std::size_t>(3, status.size()), reply_.status);
    return true;
  }
  if (trimmed(line).empty()) {
    in_headers_ = false;
    headers_whole_ = true;
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  const std::string name = lowered(trimmed(line.substr(0, colon)));
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (name == "content-type") {
    reply_.content_type = lowered(trimmed(value.substr(0, value.find(';'))));
  } else if (name == "bartleby-outcome") {
    std::string outcome = lowered(value);
    reply_.outcome_twice |= !reply_.outcome.empty() && reply_.outcome != outcome;
    reply_.outcome = std::move(outcome);
  } else if (name == "bartleby-error-type") {
    reply_.error_type = value;
  } else if (name == "retry-after") {
    reply_.retry_after = value;
  }
  return true;
}

bool HttpTransfer::body_bytes(std::string_view bytes) {
  const bool emit = reply_.status == 200 && reply_.content_type == kEmitType;
  const bool whole = emit || reply_.content_type == kProblemType;  // all of it is needed
  const std::size_t may_read = emit ? kMaxEmitDocument : kMaxReplyBody;
  const std::size_t may_keep = whole ? may_read : kMaxPlainBody;
  body_bytes_ += bytes.size();
  const std::size_t keep = std::min(bytes.size(), may_keep - std::min(may_keep, reply_.body.size()));
  const std::size_t after = reply_.body.size() + keep;
  const std::size_t wanted = after > kMaxPlainBody ? after : 0;
  if (wanted > borrowed_ + budget_.left) {
    if (emit) {
      given_up_ = Transport::kOverloaded;
      reply_.detail = "too many long answers at once";
      return false;
    }
    reply_.body_cut = true;
  } else {
    if (wanted > borrowed_) {
      budget_.left -= wanted - borrowed_;
      borrowed_ = wanted;
    }
    reply_.body += bytes.substr(0, keep);
    reply_.body_cut |= keep < bytes.size();
  }
  return body_bytes_ <= may_read;
}

}  // namespace bartleby
