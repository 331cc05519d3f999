#include "cli/api_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <utility>

#include "cli/interrupt.h"
#include "cli/text.h"

namespace bartleby::cli {
namespace {

constexpr std::size_t kMaxAnswer = std::size_t{64} << 20;
constexpr long kConnectMs = 5000;
constexpr std::size_t kShownErrors = 20;

std::size_t take_body(char* data, std::size_t, std::size_t size, void* to) {
  auto& body = *static_cast<std::string*>(to);
  if (body.size() + size > kMaxAnswer) return 0;
  body.append(data, size);
  return size;
}

int still_wanted(void*, curl_off_t, curl_off_t, curl_off_t, curl_off_t) { return Interrupt::asked() ? 1 : 0; }

bool is_loopback(std::string_view server) {
  const std::size_t start = server.find("://") + 3;
  const std::string_view rest = server.substr(start);
  return rest.starts_with("127.") || rest.starts_with("localhost") || rest.starts_with("[::1]");
}

}  // namespace

struct ApiClient::Handle {
  Handle() : easy(curl_easy_init()) {}
  ~Handle() { curl_easy_cleanup(easy); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  CURL* easy;
};

std::expected<ApiClient, Failure> ApiClient::open(const std::string& server, const std::string& key) {
  std::string url = server.contains("://") ? server : "http://" + server;
  while (url.ends_with('/')) url.pop_back();
  const bool http = url.starts_with("http://") || url.starts_with("https://");
  if (!http || url.contains('?') || url.contains('#') || url.ends_with(":"))
    return refuse(exit_status::kUsage, "a server is named like http://127.0.0.1:1853, not '" + shown(server) + "'");
  if (std::ranges::any_of(key, [](char c) { return static_cast<unsigned char>(c) <= 0x20; }))
    return refuse(exit_status::kUsage, "the API key has a blank or control character in it");
  static const bool kStarted = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  ApiClient client(std::move(url), key);
  if (!kStarted || client.handle_->easy == nullptr) return refuse(exit_status::kError, "libcurl does not start");
  return client;
}

ApiClient::ApiClient(std::string server, std::string key)
    : server_(std::move(server)), key_(std::move(key)), handle_(std::make_unique<Handle>()) {}
ApiClient::ApiClient(ApiClient&& other) noexcept = default;
ApiClient& ApiClient::operator=(ApiClient&& other) noexcept = default;
ApiClient::~ApiClient() = default;

std::expected<ApiReply, Failure> ApiClient::call(const ApiRequest& request) {
  CURL* easy = handle_->easy;
  curl_easy_reset(easy);  // connections stay
  ApiReply reply;
  // Without a type of its own a message gets none; curl would claim a form.
  curl_slist* headers = curl_slist_append(nullptr, "Expect:");
  const bool typed =
      std::ranges::any_of(request.headers, [](const std::string& h) { return h.starts_with("Content-Type:"); });
  if (!typed) headers = curl_slist_append(headers, "Content-Type:");
  for (const std::string& header : request.headers) headers = curl_slist_append(headers, header.c_str());
  if (!key_.empty()) headers = curl_slist_append(headers, ("Authorization: Bearer " + key_).c_str());
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> owned(headers, curl_slist_free_all);

  curl_easy_setopt(easy, CURLOPT_URL, (server_ + request.path).c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kConnectMs);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &take_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &reply.body);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, &still_wanted);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "bartleby");
  if (request.method == "HEAD") curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  if (request.method == "POST" || request.method == "PUT" || request.method == "PATCH" || !request.body.empty()) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  // A proxy of the environment is for the world outside.
  if (is_loopback(server_)) curl_easy_setopt(easy, CURLOPT_PROXY, "");

  const CURLcode code = curl_easy_perform(easy);
  if (code != CURLE_OK) {
    if (code == CURLE_ABORTED_BY_CALLBACK) return refuse(exit_status::kError, "interrupted");
    if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST)
      return std::unexpected(Failure{exit_status::kUnreachable,
                                     "no server answers at " + server_ +
                                         ": start one with `bartleby serve`, or name another with --server or"
                                         " BARTLEBY_URL",
                                     true});
    if (code == CURLE_OPERATION_TIMEDOUT)
      return refuse(exit_status::kUnreachable,
                    server_ + " did not answer within " + span_text(request.timeout) + ", or could not be reached");
    if (code == CURLE_WRITE_ERROR)
      return refuse(exit_status::kError, "the answer of " + server_ + " is larger than 64 MB");
    return refuse(exit_status::kUnreachable, server_ + ": " + curl_easy_strerror(code));
  }
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  const char* type = nullptr;
  curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
  reply.status = static_cast<int>(status);
  if (type != nullptr) reply.content_type = type;
  return reply;
}

int exit_status_of(int http_status) {
  switch (http_status) {
    case 400:
    case 422:
      return exit_status::kUsage;
    case 401:
    case 403:
      return exit_status::kDenied;
    case 404:
    case 410:
      return exit_status::kNotFound;
    case 409:
    case 412:
      return exit_status::kConflict;
    case 408:
    case 503:
    case 504:
      return exit_status::kUnreachable;
    default:
      return http_status < 400 ? exit_status::kOk : exit_status::kError;
  }
}

Failure failure_of(const ApiReply& reply, const std::string& server) {
  const int status = reply.status < 400 ? exit_status::kError : exit_status_of(reply.status);
  const bool refused = reply.status >= 400 && reply.status < 500;
  const auto problem = JsonValue::parse(reply.body);
  const std::string title = problem ? problem->text("title") : "";
  std::string text = problem ? problem->text("detail", title) : "";
  if (text.empty()) {
    text = server + " answered " + std::to_string(reply.status) + " without saying why";
    if (reply.status < 400)
      text = server + " gave an answer that is not Bartleby's; is something else listening there?";
    return {status, text, refused};
  }
  text = shown(text);
  std::size_t room = kShownErrors;
  for (const JsonValue& error : (*problem)["errors"].items()) {
    if (room-- == 0) break;
    const std::string line = error.text("pointer") + " " + error.text("detail");
    // The detail of a single mistake is often the mistake itself.
    if (line != text) text += "\n  " + shown(error.text("pointer")) + ": " + shown(error.text("detail"));
  }
  if (reply.status == 401) text += "\nSet BARTLEBY_KEY, or write the key to ~/.config/bartleby/key";
  return {status, text, refused};
}

std::string encoded(std::string_view bytes) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : bytes) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
      continue;
    }
    out += '%';
    out += kHex[static_cast<unsigned char>(c) >> 4];
    out += kHex[static_cast<unsigned char>(c) & 15U];
  }
  return out;
}

}  // namespace bartleby::cli
