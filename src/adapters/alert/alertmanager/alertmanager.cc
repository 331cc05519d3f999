#include "adapters/alert/alertmanager/alertmanager.h"

#include <curl/curl.h>

#include <algorithm>

#include "codec/json_text.h"
#include "codec/time_text.h"
#include "codec/utf8.h"

namespace bartleby {
namespace {

constexpr std::size_t kMaxAnswer = 4096;
constexpr std::size_t kShown = 200;

// What is longer is thrown away: it is only shown where something is wrong.
std::size_t take_body(char* data, std::size_t, std::size_t size, void* to) {
  auto& body = *static_cast<std::string*>(to);
  body.append(data, std::min(size, kMaxAnswer - std::min(kMaxAnswer, body.size())));
  return size;
}

void append_texts(std::string& out, const AlertTexts& texts, const std::string* name) {
  JsonObject object(out);
  if (name != nullptr) object.text("alertname", *name);
  for (const auto& [field, value] : texts) object.text(field, value);
}

}  // namespace

struct Alertmanager::Handle {
  Handle() : easy(curl_easy_init()) {}
  ~Handle() { curl_easy_cleanup(easy); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  CURL* easy;
};

std::string alertmanager_body(const std::vector<Alert>& alerts, const std::string& page) {
  std::string out = "[";
  for (const Alert& alert : alerts) {
    if (out.size() > 1) out += ',';
    JsonObject object(out);
    object.name("labels");
    append_texts(out, alert.labels, &alert.name);
    object.name("annotations");
    append_texts(out, alert.annotations, nullptr);
    object.text("startsAt", time_text(alert.starts));
    object.text("endsAt", time_text(alert.ends));
    if (!page.empty() && !alert.path.empty()) object.text("generatorURL", page + alert.path);
  }
  return out + "]";
}

Alertmanager::Alertmanager(AlertmanagerOptions options)
    : options_(std::move(options)), handle_(std::make_unique<Handle>()) {}
Alertmanager::~Alertmanager() = default;

Result<void> Alertmanager::push(const std::vector<Alert>& alerts) {
  CURL* easy = handle_->easy;
  if (easy == nullptr) return fail(ErrorCode::kUnavailable, "libcurl does not start");
  curl_easy_reset(easy);  // connections stay
  std::string url = options_.url;
  while (url.ends_with('/')) url.pop_back();
  url += "/api/v2/alerts";
  const std::string body = alertmanager_body(alerts, options_.page);
  std::string answer;
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(
      curl_slist_append(nullptr, "Content-Type: application/json"), curl_slist_free_all);
  bool ok = true;
  const auto set = [&](CURLoption option, auto value) { ok = ok && curl_easy_setopt(easy, option, value) == CURLE_OK; };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_PROXY, "");
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_USERAGENT, "bartleby");
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_POSTFIELDS, body.c_str());
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(options_.limit.count()));
  set(CURLOPT_WRITEFUNCTION, &take_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&answer));
  if (!ok) return fail(ErrorCode::kUnavailable, "libcurl does not take the request");
  if (const CURLcode code = curl_easy_perform(easy); code != CURLE_OK)
    return fail(ErrorCode::kUnavailable, curl_easy_strerror(code));
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) return {};
  return fail(ErrorCode::kUnavailable, "HTTP " + std::to_string(status) + ": " + clean_utf8(answer, {.bytes = kShown}));
}

}  // namespace bartleby
