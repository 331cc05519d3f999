#include "wiring/demo.h"

#include <signal.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <map>
#include <ostream>
#include <utility>
#include <vector>

#include "base/log.h"
#include "cli/api_client.h"
#include "cli/interrupt.h"
#include "cli/text.h"
#include "codec/json_text.h"
#include "wiring/config_text.h"
#include "wiring/demo_account.h"
#include "wiring/instance.h"

namespace bartleby {
namespace {

using cli::Failure;
using cli::JsonValue;
namespace exit_status = cli::exit_status;

constexpr std::int64_t kSteps = 100;    // of sending
constexpr Duration kBetweenSteps{100};  // so that it takes ten seconds
constexpr Duration kLook{250};
constexpr Duration kPatience{std::chrono::minutes(2)};  // without any progress

constexpr std::string_view kConfig = R"(
cluster_id: demo
log: {level: error}
heartbeats: {every: 1s}
workers:
  demo:
    topics: [demo]
    handler: {builtin: demo}
    concurrency: 16
    guard: null
    retry: {max_attempts: 3, schedule: [300ms, 1s]}
)";

std::unexpected<Failure> broken(std::string text) { return cli::refuse(exit_status::kError, std::move(text)); }

// A folder that goes away with it, or somebody's own, which stays.
class Folder {
 public:
  static std::expected<Folder, Failure> make(const std::optional<std::string>& own) {
    if (own) return Folder(*own, false);
    std::string pattern = (std::filesystem::temp_directory_path() / "bartleby-demo-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) return broken("cannot make a folder like " + pattern);
    return Folder(pattern, true);
  }
  Folder(Folder&& other) noexcept : path_(std::move(other.path_)), ours_(std::exchange(other.ours_, false)) {}
  Folder& operator=(Folder&&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (ours_) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  Folder(std::string path, bool ours) : path_(std::move(path)), ours_(ours) {}
  std::string path_;
  bool ours_;
};

class Demo {
 public:
  Demo(cli::ApiClient client, DemoReceiver& receiver, std::int64_t messages, const cli::CliContext& context)
      : client_(std::move(client)), receiver_(receiver), messages_(messages), context_(context) {}

  std::expected<DemoAccount, Failure> run() {
    for (const auto step : {&Demo::send, &Demo::await_ends, &Demo::replay})
      if (auto done = (this->*step)(); !done) return std::unexpected(done.error());
    return account();
  }

 private:
  using Step = std::expected<void, Failure>;

  std::expected<JsonValue, Failure> call(const cli::ApiRequest& request) {
    const auto reply = client_.call(request);
    if (!reply) return std::unexpected(reply.error());
    if (reply->status >= 300) return std::unexpected(cli::failure_of(*reply, client_.server()));
    auto document = JsonValue::parse(reply->body);
    if (!document) return broken("the server's answer cannot be read: " + document.error().message);
    return std::move(*document);
  }
  std::expected<JsonValue, Failure> get(const std::string& path) { return call({.path = path}); }
  std::expected<JsonValue, Failure> post(const std::string& path, std::string body,
                                         const std::string& type = "application/json") {
    return call({.method = "POST", .path = path, .body = std::move(body), .headers = {"Content-Type: " + type}});
  }

  void tell(const std::string& line) {
    if (line == told_) return;
    told_ = line;
    if (context_.terminal.value_or(false))
      *context_.err << "\r\x1b[K" << line << std::flush;
    else
      *context_.err << line << '\n' << std::flush;
  }
  void end_line() {
    if (context_.terminal.value_or(false)) *context_.err << '\n';
  }

  Step pause(Duration wait) {
    if (interrupt_.wait(wait)) return broken("stopped before its end");
    return {};
  }

  // Until `done` says so; patience ends when nothing has moved for too long.
  Step await(const std::string& what, const std::function<std::expected<bool, Failure>()>& done) {
    Duration waited{0};
    for (std::string before = told_;; waited += kLook) {
      const auto over = done();
      if (!over) return std::unexpected(over.error());
      if (*over) return {};
      if (std::exchange(before, told_) != told_) waited = Duration(0);
      if (waited > kPatience) return broken("waited in vain for " + what);
      if (auto go_on = pause(kLook); !go_on) return go_on;
    }
  }

  struct Logged {
    std::map<std::int64_t, std::string> sent;                          // order and key, of first lives
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> at;  // order by place, of all lives
  };

  std::expected<Logged, Failure> read_log() {
    Logged log;
    const auto topics = get("/api/v1/topics");
    if (!topics) return std::unexpected(topics.error());
    for (const JsonValue& topic : (*topics)["items"].items()) {
      if (topic.text("name") != "demo") continue;
      for (const JsonValue& partition : topic["partitions"].items()) {
        const std::int64_t number = partition.integer("partition");
        for (std::int64_t from = partition.integer("start"); from < partition.integer("end");) {
          const auto page = get("/api/v1/topics/demo/messages?limit=500&partition=" + std::to_string(number) +
                                "&from=" + std::to_string(from));
          if (!page) return std::unexpected(page.error());
          for (const JsonValue& message : (*page)["items"].items()) {
            const auto order = demo_order(message["value"].if_bytes().value_or(""));
            if (!order) continue;
            log.at[{number, message.integer("offset")}] = *order;
            if (!is_replay(message)) log.sent[*order] = message.text("key");
          }
          const std::int64_t next = page->integer("next");
          if (next <= from) break;
          from = next;
        }
      }
    }
    return log;
  }

  static bool is_replay(const JsonValue& message) {
    for (const JsonValue& header : message["headers"].items())
      if (header.items().size() == 2 && header.items()[0].if_bytes() == "bartleby-replay") return true;
    return false;
  }

  // What an earlier process of this demo has sent is in the log, whatever it heard of it.
  Step send() {
    const auto log = read_log();
    if (!log) return std::unexpected(log.error());
    std::vector<std::int64_t> missing;
    for (std::int64_t order = 0; order < messages_; ++order)
      if (!log->sent.contains(order)) missing.push_back(order);
    const auto batch = static_cast<std::size_t>(std::max<std::int64_t>(messages_ / kSteps, 1));
    for (std::size_t from = 0; from < missing.size(); from += batch) {
      std::string lines;
      for (std::size_t i = from; i < std::min(from + batch, missing.size()); ++i) append_message(lines, missing[i]);
      if (auto sent = post("/api/v1/topics/demo/messages", lines, "application/x-ndjson"); !sent)
        return std::unexpected(sent.error());
      const std::size_t there =
          static_cast<std::size_t>(messages_) - missing.size() + std::min(from + batch, missing.size());
      if ((from / batch) % 10 == 0 || there == static_cast<std::size_t>(messages_))
        tell("sent " + cli::grouped(static_cast<std::int64_t>(there)) + " of " + cli::grouped(messages_) +
             ", handled " + cli::grouped(receiver_.handled()));
      if (auto go_on = pause(kBetweenSteps); !go_on) return go_on;
    }
    return {};
  }

  static void append_message(std::string& lines, std::int64_t order) {
    {
      JsonObject line(lines);
      line.text("key", demo_key(order));
      line.text("value", R"({"order":)" + std::to_string(order) + "}");
    }
    lines += '\n';
  }

  std::expected<std::int64_t, Failure> count_letters(const std::string& query) {
    const auto page = get("/api/v1/letters?limit=1&q=" + cli::encoded(query));
    if (!page) return std::unexpected(page.error());
    return (*page)["count"].integer("value");
  }

  // Every message is handled or a letter.
  Step await_ends() {
    return await("every message to be handled or a letter", [&]() -> std::expected<bool, Failure> {
      const auto letters = count_letters("dlq:demo.dlq");
      if (!letters) return std::unexpected(letters.error());
      const std::int64_t handled = receiver_.handled();
      tell("handled " + cli::grouped(handled) + ", dead letters " + cli::grouped(*letters) + ", on their way " +
           cli::grouped(std::max<std::int64_t>(messages_ - handled - *letters, 0)));
      return handled + *letters >= messages_;
    });
  }

  Step replay() {
    // One that a killed process has begun goes on by itself.
    if (auto over = await_operations(); !over) return over;
    const auto planned =
        post("/api/v1/operations", R"({"kind":"replay","q":"dlq:demo.dlq state:open replays:0","canary":0,)"
                                   R"("halt":{"came_back":100},"reason":"the demo's warehouse is open again"})");
    if (!planned) return std::unexpected(planned.error());
    if (planned->integer("letters") == 0) return {};
    if (auto started = post("/api/v1/operations/" + planned->text("id") + ":start", "{}"); !started)
      return std::unexpected(started.error());
    if (auto over = await_operations(); !over) return over;
    return await_lives();
  }

  // The operation may know of a death before the letter of that life is taken in.
  Step await_lives() {
    return await("the letters that came back", [&]() -> std::expected<bool, Failure> {
      const auto letters = count_letters("dlq:demo.dlq");
      const auto resolved = count_letters("dlq:demo.dlq state:resolved");
      const auto again = count_letters("dlq:demo.dlq state:open replays:>0");
      for (const auto* one : {&letters, &resolved, &again})
        if (!*one) return std::unexpected(one->error());
      return *resolved + *again >= *letters;
    });
  }

  Step await_operations() {
    return await("the replay to end", [&]() -> std::expected<bool, Failure> {
      const auto running = get("/api/v1/operations?state=running");
      if (!running) return std::unexpected(running.error());
      const auto& items = (*running)["items"].items();
      if (!items.empty())
        tell("replaying: " + cli::grouped(items[0]["results"].integer("succeeded")) + " succeeded, " +
             cli::grouped(items[0]["results"].integer("came_back")) + " came back, of " +
             cli::grouped(items[0].integer("letters")));
      return items.empty();
    });
  }

  std::expected<DemoAccount, Failure> account() {
    const auto log = read_log();
    if (!log) return std::unexpected(log.error());
    std::vector<DemoLetter> letters;
    std::string cursor;
    do {
      const auto page = get("/api/v1/letters?limit=500&q=dlq:demo.dlq" + (cursor.empty() ? "" : "&cursor=" + cursor));
      if (!page) return std::unexpected(page.error());
      for (const JsonValue& letter : (*page)["items"].items()) {
        const JsonValue& origin = letter["origin"];
        const auto order = log->at.find({origin.integer("partition", -1), origin.integer("offset", -1)});
        if (order == log->at.end()) return broken("letter " + letter.text("id") + " is of no message in the log");
        letters.push_back({order->second, letter.text("state") == "resolved", letter.integer("replays") > 0});
      }
      cursor = cli::encoded(page->text("next"));
    } while (!cursor.empty());
    end_line();
    return demo_account(messages_, log->sent, letters, receiver_.attempts());
  }

  cli::ApiClient client_;
  DemoReceiver& receiver_;
  const std::int64_t messages_;
  const cli::CliContext& context_;
  cli::Interrupt interrupt_;
  std::string told_;
};

std::expected<Config, Failure> configuration(const std::string& data_dir, const std::string& listen) {
  ConfigSources sources;
  sources.file = ConfigFile{"the demo's configuration", std::string(kConfig)};
  sources.flags = {{"--data-dir", {"data_dir"}, data_dir}, {"--listen", {"listen"}, listen}};
  auto config = load(sources);
  if (!config) return cli::refuse(exit_status::kUsage, config_check_text(config.error()));
  return std::move(*config);
}

cli::Ran run_demo(const cli::Arguments& arguments, const cli::CliContext& context) {
  const auto messages = arguments.number("--messages", 1000, 1, 1000000);
  if (!messages) return std::unexpected(messages.error());
  const auto folder = Folder::make(arguments.value("--data-dir"));
  if (!folder) return std::unexpected(folder.error());
  const auto config = configuration(folder->path(), arguments.value("--listen").value_or("127.0.0.1:1853"));
  if (!config) return std::unexpected(config.error());
  std::error_code failed;
  std::filesystem::create_directories(folder->path(), failed);
  auto receiver = DemoReceiver::open((std::filesystem::path(folder->path()) / "demo-receiver.log").string());
  if (!receiver) return broken(receiver.error().message);
  Handlers handlers;
  handlers.sync["demo"] = [&](const Message& message, Attempt& attempt) {
    return (*receiver)->handle(message, attempt);
  };
  ::signal(SIGXFSZ, SIG_IGN);
  Log log(config->log_format, config->log_level);
  const SystemClock clock(1);
  auto instance = Instance::start(*config, handlers, clock, log, [&log](const std::string& why) {
    log.error("process_ends", {{"why", why}});
    std::_Exit(exit_status::kError);
  });
  if (!instance) return broken(instance.error().message + "; another address: bartleby demo --listen 127.0.0.1:1854");
  auto client = cli::ApiClient::open((*instance)->address(), "");
  if (!client) return std::unexpected(client.error());
  std::expected<DemoAccount, Failure> account = Demo(std::move(*client), **receiver, *messages, context).run();
  if (account) {
    *context.out << account->text() << '\n';
    if (!account->adds_up()) *context.err << "it does not add up\n";
    if (context.terminal.value_or(false) || arguments.has("--stay")) {
      *context.out << "look at " << (*instance)->address() << "; Ctrl-C ends it\n" << std::flush;
      cli::Interrupt interrupt;
      while (!interrupt.wait(std::chrono::hours(1))) {
      }
    }
  }
  if ((*instance)->stop() != Instance::Stopped::kWhole) std::_Exit(exit_status::kError);
  instance->reset();
  if (!account) return std::unexpected(account.error());
  return account->adds_up() ? exit_status::kOk : exit_status::kError;
}

}  // namespace

cli::Command demo_command() {
  return {.name = "demo",
          .summary = "see it work: messages, failures, dead letters, a replay, and one line that must add up",
          .options = {{"--messages", 0, "N", "how many; else 1000"},
                      {"--data-dir", 0, "FOLDER", "where it is kept; else a folder that goes away at the end"},
                      {"--listen", 0, "ADDRESS:PORT", "where its server listens; else 127.0.0.1:1853"},
                      {"--stay", 0, "", "the server stays up at the end; on a terminal it always does"}},
          .details =
              "Takes about twenty seconds. Kill it with kill -9 and start it again on the same folder: it goes on,\n"
              "and still adds up. Exit status 0 only if it does.",
          .examples = {"bartleby demo", "bartleby demo --messages 5000 --data-dir /tmp/demo"},
          .run = run_demo};
}

}  // namespace bartleby
