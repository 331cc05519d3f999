// Attempts pushed over HTTP to an endpoint in this process, against libcurl's multi interface used as its manual
// shows it (curl_multi_poll, curl_multi_perform), with the same requests and as many of them at once.
#include <curl/curl.h>
#include <sys/resource.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <semaphore>

#include "adapters/handler/http/http_handler.h"
#include "base/assert.h"
#include "bench/benches.h"
#include "tests/support/http_server.h"

namespace bartleby::bench {
namespace {

using std::chrono::milliseconds;

struct Load {
  const char* name;
  int requests;
  int at_once;
  milliseconds pause;  // of the endpoint
  double goal;         // times the peer
};

std::shared_ptr<AttemptIn> attempt() {
  LogRecord record;
  record.offset = Offset(12345);
  record.timestamp = timestamp_ms(1736937000000);
  record.key = "deal_550e8400";
  record.value = std::string(200, 'x');
  record.headers = {{"traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}};
  auto a = std::make_shared<AttemptIn>();
  a->names = std::make_shared<const AttemptIn::Names>("here", "payout-executor", "cg-payout-executor");
  a->tp = {"escrow.commands", Partition(3)};
  a->record = std::make_shared<const LogRecord>(std::move(record));
  a->id = "msg_abcdefghijklmnopqrstuvwxyz";
  a->deadline = system_now().steady + std::chrono::minutes(1);
  a->deadline_wall = system_now().wall;
  a->token = "at_abcdefghijklmnopqrstuvwxyz";
  return a;
}

// Processor time of the whole process, the endpoint included: a neighbour takes our turn, but not our figure.
class ProcessTime {
 public:
  double microseconds() const { return now() - start_; }

 private:
  static double now() {
    timespec t = {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
  }
  double start_ = now();
};

double ours(const Load& load, const std::string& url) {
  const auto loop = std::make_shared<HttpLoop>();
  const auto handler = HttpHandler::make({.target = {.url = url, .allow_private = true}, .secret = "secret"}, loop);
  BARTLEBY_ASSERT(handler);
  std::atomic<int> begun{0}, done{0};
  std::binary_semaphore end(0);
  // One after the other from inside the answers, as the runner does it with the messages of a stretch.
  std::function<void()> next = [&] {
    if (begun.fetch_add(1) >= load.requests) return;
    (*handler)->start(attempt(), [&](const Decision& d) {
      BARTLEBY_ASSERT(d.fate == Fate::kDone);
      if (++done == load.requests) return end.release();
      next();
    });
  };
  const ProcessTime watch;
  for (int i = 0; i < load.at_once; ++i) next();
  end.acquire();
  const double used = watch.microseconds();
  return used / load.requests;
}

std::size_t ignore(char*, std::size_t, std::size_t size, void*) { return size; }

double bare(const Load& load, const std::string& url) {
  const auto request = attempt();
  const auto signer = WebhookSigner::make("secret");
  PushStyle style;
  style.signer = &*signer;
  curl_slist* headers = nullptr;
  const auto lines = push_headers(*request, style, system_now().wall);
  for (std::size_t at = 0; at < lines->size(); at = lines->find('\0', at) + 1)
    headers = curl_slist_append(headers, lines->c_str() + at);
  CURLM* multi = curl_multi_init();
  std::vector<CURL*> handles;
  for (int i = 0; i < load.at_once; ++i) {
    CURL* easy = handles.emplace_back(curl_easy_init());
    curl_easy_setopt(easy, CURLOPT_URL, url.c_str());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(request->record->value->size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->record->value->data());
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &ignore);
  }
  const ProcessTime watch;
  int begun = 0, done = 0;
  for (CURL* easy : handles)
    if (begun < load.requests && ++begun > 0) curl_multi_add_handle(multi, easy);
  while (done < load.requests) {
    int running = 0, left = 0;
    curl_multi_perform(multi, &running);
    while (const CURLMsg* message = curl_multi_info_read(multi, &left)) {
      BARTLEBY_ASSERT(message->data.result == CURLE_OK);
      CURL* easy = message->easy_handle;
      ++done;
      curl_multi_remove_handle(multi, easy);
      if (begun < load.requests && ++begun > 0) curl_multi_add_handle(multi, easy);
    }
    if (done < load.requests) curl_multi_poll(multi, nullptr, 0, 1000, nullptr);
  }
  const double used = watch.microseconds();
  for (CURL* easy : handles) curl_easy_cleanup(easy);
  curl_multi_cleanup(multi);
  curl_slist_free_all(headers);
  return used / load.requests;
}

Row compare(const Load& load) {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  test::HttpServer server([&](const test::ServerRequest&) -> std::vector<test::ServerStep> {
    return {{test::http_answer(200, "", ""), load.pause}};
  });
  std::array<double, kRepeats> mine{}, peer{};
  for (std::size_t i = 0; i < kRepeats; ++i) {
    peer[i] = bare(load, server.url());
    mine[i] = ours(load, server.url());
  }
  const Figure m = figure_of(mine), p = figure_of(peer);
  Row row{.name = load.name, .ours = m.median, .peer = p.median, .peer_name = "bare libcurl, curl_multi_poll"};
  row.unit = "us/request";
  row.ratio = m.median / p.median;
  row.goal = text("<= %.2f x bare libcurl", load.goal);
  row.met = *row.ratio <= load.goal;
  row.spread = m.spread;
  row.notes.push_back(text("%d requests of 200 bytes, %d at once; the endpoint takes %lld ms and shares the machine",
                           load.requests, load.at_once, static_cast<long long>(load.pause.count())));
  return row;
}

}  // namespace

Row push() { return compare({"push", 30'000, 64, milliseconds(0), 1.25}); }
Row push_slow() { return compare({"push_slow", 20'000, 2'000, milliseconds(200), 1.25}); }

}  // namespace bartleby::bench
