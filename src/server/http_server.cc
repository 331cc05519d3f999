#include "server/http_server.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cerrno>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/death_point.h"
#include "base/thread_name.h"
#include "codec/percent.h"
#include "office/keys.h"
#include "server/problem.h"

namespace bartleby {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using Socket = asio::ip::tcp::socket;
using Stream = beast::tcp_stream;
using boost::system::error_code;

auto quietly(error_code& failed) { return asio::redirect_error(asio::use_awaitable, failed); }

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return out;
}

constexpr const char* kRequestId = "X-Request-Id";
constexpr std::size_t kLongestRequestId = 100;
constexpr std::chrono::milliseconds kLookForClient{500};
constexpr std::chrono::milliseconds kLookForEnd{5};
constexpr std::chrono::milliseconds kLookForNews{200};

// Whether the other side has closed. Bytes of a next request mean that it has not.
bool has_gone(Stream& stream) {
  char byte = 0;
  const ssize_t n = ::recv(stream.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

// What the caller calls it, where that is a word for logs and the audit; else one of ours, that never comes again.
std::string request_id_of(const Request& request) {
  const auto said = request.header_values("x-request-id");
  const bool fit = said.size() == 1 && !said.front().empty() && said.front().size() <= kLongestRequestId &&
                   std::ranges::all_of(said.front(), [](char c) {
                     return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                            c == '_' || c == '-';
                   });
  return fit ? std::string(said.front()) : "req_" + random_secret();
}

std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(0, authority.find(']') + 1);
  return authority.substr(0, authority.rfind(':'));
}

// While everybody on this machine may do everything, a page in a browser on it must not: neither by a form or script of
// another site, nor under a name that its owner has pointed at this machine.
std::optional<std::string> foreign(const Request& request, const ServerOptions& options) {
  const std::string_view host = request.header("host").value_or("");
  const std::string_view name = host_of(host);
  if (options.loopback_names_only && name != "localhost" && name != "127.0.0.1" && name != "[::1]")
    return "this server answers to localhost only, not to " +
           (name.empty() ? "a request without Host" : std::string(name.substr(0, 100)));
  const std::string_view site = request.header("sec-fetch-site").value_or("none");
  const std::string_view origin = request.header("origin").value_or("");
  const bool same =
      origin.empty() || origin == "http://" + std::string(host) || origin == "https://" + std::string(host);
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!reads && (!same || (site != "none" && site != "same-origin"))) return "a page of another site may not do this";
  return std::nullopt;
}

// An answer to what could not be read to its end: nobody knows what the caller would have called it.
Response unread(Response response) {
  const std::string id = "req_" + random_secret();
  complete_problem(response, "", id);
  response.headers.emplace_back(kRequestId, id);
  return response;
}

// What went wrong while a request was read, for whoever still listens; nothing for one who has gone.
std::optional<Response> refusal(const error_code& failed, const ServerOptions& options) {
  if (failed == http::error::end_of_stream || failed == asio::error::eof || failed == asio::error::connection_reset ||
      failed == asio::error::operation_aborted)
    return std::nullopt;
  if (failed == http::error::header_limit)
    return problem(ProblemType::kTooLarge,
                   "the headers are larger than " + std::to_string(options.max_header) + " bytes");
  if (failed == http::error::body_limit)
    return problem(ProblemType::kTooLarge, "the body is larger than " + std::to_string(options.max_body) + " bytes");
  if (failed == beast::error::timeout) return problem(ProblemType::kMalformed, "the request did not arrive in time");
  return problem(ProblemType::kMalformed, "this is not HTTP: " + failed.message());
}

}  // namespace

// What a stop must know of a connection. Touched on its strand only.
struct HttpServer::Connection {
  explicit Connection(Socket socket) : stream(std::move(socket)) {}

  Stream stream;
  bool idle = true;  // waits for a request
  bool cut = false;  // the drain is over: nobody waits for its answer
};

struct HttpServer::State {
  State(ServerOptions o, const Router& r, Log& l)
      : options(std::move(o)),
        router(r),
        log(l),
        context(static_cast<int>(options.threads)),
        acceptor(asio::make_strand(context)) {}

  const ServerOptions options;
  const Router& router;
  Log& log;
  asio::io_context context;
  asio::ip::tcp::acceptor acceptor;
  std::vector<std::jthread> threads;
  std::optional<asio::thread_pool> others;  // threads of routes that may wait
  Router::Elsewhere elsewhere;
  std::uint16_t port = 0;  // known as long as the server is, not only while it listens
  std::atomic<bool> accepting{false};
  std::atomic<std::size_t> connections{0};
  std::mutex mutex;
  std::vector<std::weak_ptr<Connection>> open;  // under the mutex; those that ended are dropped now and then
  std::atomic<bool> stopping{false};

  asio::awaitable<void> accept(std::shared_ptr<State> self);
  asio::awaitable<void> serve(std::shared_ptr<State> self, std::shared_ptr<Connection> connection);
  asio::awaitable<std::optional<Response>> routed(Connection& connection, Request request);
  using NewsSource = std::shared_ptr<std::function<std::optional<std::string>()>>;
  asio::awaitable<std::optional<std::string>> news_of(Connection& connection, NewsSource source);
  asio::awaitable<void> send_stream(Connection& connection, Response response, unsigned version);
  // Calls `what` for each connection, on its strand.
  void tell_all(void (*what)(Connection&));
  bool ended_by(std::chrono::steady_clock::time_point limit) const;
  asio::awaitable<bool> send(Stream& stream, Response response, bool keep, unsigned version, bool head);
};

asio::awaitable<void> HttpServer::State::accept(std::shared_ptr<State> self) {
  while (!stopping) {
    error_code failed;
    Socket socket(asio::make_strand(context));
    co_await acceptor.async_accept(socket, quietly(failed));
    if (stopping) co_return;
    if (failed) {
      // Mostly out of file descriptors: pressing on would only burn the processor.
      asio::steady_timer pause(context, std::chrono::milliseconds(50));
      co_await pause.async_wait(quietly(failed));
      continue;
    }
    if (connections >= options.max_connections) {
      socket.close(failed);  // one more than there may be: the client sees it at once
      continue;
    }
    ++connections;
    const auto strand = socket.get_executor();
    auto connection = std::make_shared<Connection>(std::move(socket));
    {
      const std::lock_guard lock(mutex);
      if (open.size() >= 2 * (connections + 10)) std::erase_if(open, [](const auto& c) { return c.expired(); });
      open.push_back(connection);
    }
    asio::co_spawn(strand, serve(self, std::move(connection)),
                   [self](const std::exception_ptr&) { --self->connections; });
  }
}

asio::awaitable<void> HttpServer::State::serve([[maybe_unused]] std::shared_ptr<State> self,
                                               std::shared_ptr<Connection> connection) {
  error_code failed;
  Stream& stream = connection->stream;
  stream.socket().set_option(asio::ip::tcp::no_delay(true), failed);
  const auto other_end = stream.socket().remote_endpoint(failed);
  const std::string peer = failed ? "" : other_end.address().to_string();
  beast::flat_buffer buffer;
  while (!stopping) {
    http::request_parser<http::string_body> parser;
    parser.header_limit(static_cast<std::uint32_t>(options.max_header));
    parser.body_limit(options.max_body);
    if (buffer.size() == 0) {  // the next request may be long in coming, but not the rest of it
      connection->idle = true;
      stream.expires_after(options.idle_time);
      const std::size_t n = co_await stream.async_read_some(buffer.prepare(4096), quietly(failed));
      if (failed) break;
      buffer.commit(n);
    }
    connection->idle = false;
    stream.expires_after(options.header_time);
    co_await http::async_read_header(stream, buffer, parser, quietly(failed));
    const unsigned version = parser.get().version();
    const bool head = parser.get().method() == http::verb::head;
    if (!failed && parser.get().count(http::field::transfer_encoding) > 0 &&
        parser.get().count(http::field::content_length) > 0) {
      // Two lengths: whoever stands before us may have believed the other one.
      Response refused = unread(problem(ProblemType::kMalformed, "both Content-Length and Transfer-Encoding"));
      (void)co_await send(stream, std::move(refused), false, version, head);
      break;
    }
    if (!failed && parser.get().count(http::field::transfer_encoding) > 0 && !parser.chunked()) {
      // An encoding that is not known here would leave a body behind that looks like the next request.
      Response refused = unread(problem(ProblemType::kMalformed, "no Transfer-Encoding but chunked is read here"));
      (void)co_await send(stream, std::move(refused), false, version, head);
      break;
    }
    if (!failed && lower(parser.get()[http::field::expect]) == "100-continue") {
      http::response<http::empty_body> go(http::status::continue_, version);
      co_await http::async_write(stream, go, quietly(failed));
    }
    if (!failed) {
      stream.expires_after(options.body_time);
      co_await http::async_read(stream, buffer, parser, quietly(failed));
    }
    if (failed) {
      if (auto response = refusal(failed, options)) {
        router.unrouted().count(response->status, Duration(0));
        stream.expires_after(options.write_time);
        (void)co_await send(stream, unread(std::move(*response)), false, version == 0 ? 11 : version, head);
      }
      break;
    }
    auto message = parser.release();
    const bool keep = message.keep_alive() && !stopping;
    Request request;
    request.method = std::string(message.method_string());
    request.peer = peer;
    const std::string_view target(message.target().data(), message.target().size());
    const std::size_t mark = target.find('?');
    const auto path = percent_decoded(target.substr(0, mark));
    for (const auto& field : message)
      request.headers.emplace_back(lower({field.name_string().data(), field.name_string().size()}),
                                   std::string(field.value()));
    request.body = std::move(message.body());
    request.request_id = request_id_of(request);
    const std::string request_id = request.request_id;
    Response response;
    const std::string instance(target.substr(0, 200));
    const auto departure = std::make_shared<Request::Departure>();
    request.departure = departure;
    std::optional<Response> refused;
    if (const auto why = foreign(request, options))
      refused = problem(ProblemType::kForbidden, *why);
    else if (!path || !path->starts_with('/'))
      refused = problem(ProblemType::kMalformed, "the path cannot be read");
    if (refused) {
      router.unrouted().count(refused->status, Duration(0));
      response = std::move(*refused);
    } else {
      request.path = *path;
      if (mark != std::string_view::npos) request.query = parse_url_query(target.substr(mark + 1));
      stream.expires_never();  // a claim may wait for long; the route has its own limits
      std::optional<Response> answer = co_await routed(*connection, std::move(request));
      if (!answer) break;  // nobody is there to read it
      response = std::move(*answer);
    }
    complete_problem(response, instance, request_id);
    if (!response.for_log.empty())
      log.warning("request_failed", {{"request", request_id}, {"path", instance}, {"why", response.for_log}});
    response.headers.emplace_back(kRequestId, request_id);
    if (response.stream && !head) {
      co_await send_stream(*connection, std::move(response), version);
      break;
    }
    stream.expires_after(options.write_time);
    death_point("http.answer");
    // A client that has closed takes a write for a while before it says so: the route would believe it was heard.
    const bool there = !departure->undelivered || !has_gone(stream);
    if (!there || !co_await send(stream, std::move(response), keep, version, head)) {
      if (departure->undelivered) departure->undelivered();
      break;
    }
    if (!keep) break;
  }
  stream.socket().shutdown(Socket::shutdown_both, failed);
}

// The route may answer on any thread; the connection goes on on its own. A timer is what it waits for: the answer
// ends the wait, on the connection's strand, so that it cannot come between the question and the waiting. Now and
// then it looks whether the client is still there. (Not by async_initiate with a lambda inside the co_await: g++ 12
// destroys what such a lambda holds twice.)
asio::awaitable<std::optional<Response>> HttpServer::State::routed(Connection& connection, Request request) {
  struct Waiting {
    explicit Waiting(const asio::any_io_executor& executor) : timer(executor) {}
    asio::steady_timer timer;
    std::optional<Response> response;
  };
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto waiting = std::make_shared<Waiting>(executor);
  const auto departure = request.departure;
  Respond respond = [waiting, executor](Response response) {
    asio::post(executor, [waiting, response = std::move(response)]() mutable {
      waiting->response = std::move(response);
      waiting->timer.cancel();
    });
  };
  router.answer(std::move(request), std::move(respond), elsewhere);
  while (!waiting->response) {
    error_code cancelled;
    waiting->timer.expires_after(kLookForClient);
    co_await waiting->timer.async_wait(quietly(cancelled));
    if (waiting->response) break;
    if (connection.cut) co_return std::nullopt;
    if (departure->abandon && has_gone(connection.stream) && departure->abandon()) co_return std::nullopt;
  }
  co_return std::move(waiting->response);
}

asio::awaitable<bool> HttpServer::State::send(Stream& stream, Response response, bool keep, unsigned version,
                                              bool head) {
  http::response<http::string_body> message(static_cast<http::status>(response.status), version);
  message.set(http::field::content_type, response.content_type);
  message.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) message.set(name, value);
  message.keep_alive(keep);
  message.body() = std::move(response.body);
  message.prepare_payload();
  if (head) message.body().clear();  // its length is told all the same
  error_code failed;
  co_await http::async_write(stream, message, quietly(failed));
  co_return !failed;
}

// Asked elsewhere, like a route: it may look into the store. What is asked outlives a connection that is cut.
asio::awaitable<std::optional<std::string>> HttpServer::State::news_of(Connection& connection, NewsSource source) {
  if (!elsewhere) co_return (*source)();
  struct Waiting {
    explicit Waiting(const asio::any_io_executor& executor) : timer(executor) {}
    asio::steady_timer timer;
    bool answered = false;
    std::optional<std::string> news;
  };
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const auto waiting = std::make_shared<Waiting>(executor);
  elsewhere([waiting, executor, source] {
    std::optional<std::string> news = (*source)();
    asio::post(executor, [waiting, news = std::move(news)]() mutable {
      waiting->news = std::move(news);
      waiting->answered = true;
      waiting->timer.cancel();
    });
  });
  while (!waiting->answered) {
    error_code cancelled;
    waiting->timer.expires_after(kLookForClient);
    co_await waiting->timer.async_wait(quietly(cancelled));
    if (!waiting->answered && (connection.cut || stopping)) co_return std::nullopt;
  }
  co_return std::move(waiting->news);
}

// Until the connection ends: there is no length, and no next request on it.
asio::awaitable<void> HttpServer::State::send_stream(Connection& connection, Response response, unsigned version) {
  Stream& stream = connection.stream;
  http::response<http::empty_body> message(static_cast<http::status>(response.status), version);
  message.set(http::field::content_type, response.content_type);
  message.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) message.set(name, value);
  message.keep_alive(false);
  http::response_serializer<http::empty_body> serializer(message);
  error_code failed;
  stream.expires_after(options.write_time);
  co_await http::async_write_header(stream, serializer, quietly(failed));
  asio::steady_timer pause(stream.get_executor());
  connection.idle = true;  // a stop does not wait for it
  const auto source = std::make_shared<std::function<std::optional<std::string>()>>(std::move(response.stream));
  while (!failed && !stopping && !connection.cut) {
    const std::optional<std::string> more = co_await news_of(connection, source);
    if (!more || (more->empty() && has_gone(stream))) break;
    if (!more->empty()) {
      stream.expires_after(options.write_time);
      co_await asio::async_write(stream, asio::buffer(*more), quietly(failed));
      if (failed) break;
    }
    error_code woken;
    pause.expires_after(kLookForNews);
    co_await pause.async_wait(quietly(woken));
  }
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(ServerOptions options, const Router& router, Log& log) {
  auto server = listen(std::move(options), router, log);
  if (server) (*server)->serve();
  return server;
}

Result<std::unique_ptr<HttpServer>> HttpServer::listen(ServerOptions options, const Router& router, Log& log) {
  auto state = std::make_shared<State>(std::move(options), router, log);
  error_code failed;
  const auto address = asio::ip::make_address(state->options.address, failed);
  if (failed) return fail(ErrorCode::kInvalid, "not an address: " + state->options.address);
  const asio::ip::tcp::endpoint endpoint(address, state->options.port);
  state->acceptor.open(endpoint.protocol(), failed);
  if (!failed) state->acceptor.set_option(asio::socket_base::reuse_address(true), failed);
  if (!failed) state->acceptor.bind(endpoint, failed);
  if (!failed) state->acceptor.listen(asio::socket_base::max_listen_connections, failed);
  if (failed)
    return fail(ErrorCode::kUnavailable, "cannot listen on " + state->options.address + ":" +
                                             std::to_string(state->options.port) + ": " + failed.message());
  state->port = state->acceptor.local_endpoint().port();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

void HttpServer::serve() {
  State& state = *state_;
  if (state.options.waiting_threads > 0) {
    state.others.emplace(state.options.waiting_threads);
    state.elsewhere = [&state](std::move_only_function<void()> call) { asio::post(*state.others, std::move(call)); };
  }
  state.accepting = true;
  asio::co_spawn(state.acceptor.get_executor(), state.accept(state_),
                 [state = state_](const std::exception_ptr&) { state->accepting = false; });
  for (std::size_t i = 0; i < state.options.threads; ++i)
    state.threads.emplace_back([context = &state.context] {
      name_thread("http");
      context->run();
    });
}

HttpServer::HttpServer(std::shared_ptr<State> state) : state_(std::move(state)) {}

HttpServer::~HttpServer() { stop(); }  // NOLINT(bugprone-exception-escape): only a broken mutex throws

std::uint16_t HttpServer::port() const { return state_->port; }

void HttpServer::State::tell_all(void (*what)(Connection&)) {
  const std::lock_guard lock(mutex);
  for (const auto& weak : open)
    if (const auto connection = weak.lock())
      asio::post(connection->stream.get_executor(), [connection, what] { what(*connection); });
}

bool HttpServer::State::ended_by(std::chrono::steady_clock::time_point limit) const {
  while (connections > 0 || accepting) {
    if (std::chrono::steady_clock::now() >= limit) return false;
    std::this_thread::sleep_for(kLookForEnd);
  }
  return true;
}

void HttpServer::stop() {
  if (state_->stopping.exchange(true)) return;
  asio::post(state_->acceptor.get_executor(), [state = state_.get()] {
    error_code failed;
    state->acceptor.close(failed);
  });
  state_->tell_all([](Connection& connection) {
    if (connection.idle) connection.stream.cancel();
  });
  const auto drained = std::chrono::steady_clock::now() + state_->options.drain;
  if (!state_->ended_by(drained)) {
    state_->tell_all([](Connection& connection) {
      connection.cut = true;
      connection.stream.close();
    });
    // Whoever waits for a route looks up that often.
    if (!state_->ended_by(drained + 2 * kLookForClient))
      state_->log.warning("connections_left", {{"connections", state_->connections.load()}});
  }
  state_->context.stop();
  state_->threads.clear();
  if (!state_->others) return;
  state_->others->stop();  // what has not begun is not begun
  state_->others->join();
}

}  // namespace bartleby
