#include "wiring/serve.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "wiring/config_environment.h"
#include "wiring/config_text.h"
#include "wiring/handler_check.h"
#include "wiring/instance.h"
#include "wiring/sinks.h"

namespace bartleby {
namespace {

constexpr int kOk = 0;
constexpr int kError = 1;
constexpr int kUsage = 2;

constexpr std::string_view kHelp =
    R"(usage: bartleby serve [-c FILE] [--data-dir DIR] [--listen ADDRESS:PORT] [--to URL --topic TOPIC]
                      [--kafka HOST:PORT] [--roles runtime,office] [--log text|json]

Runs workers, the office and the HTTP API on the embedded log, or on Kafka. Without a file it runs with defaults:
nothing else is needed.

  -c FILE            the configuration; without it ./bartleby.yaml where there is one
  --data-dir DIR     where topics and offsets are kept            (default ./bartleby-data)
  --listen A:P       where the API listens; loopback without keys (default 127.0.0.1:1853)
  --to URL           one worker that posts every message there; wants --topic
  --topic TOPIC      what that worker reads; it has the topic's name
  --kafka HOST:PORT  Apache Kafka instead of the embedded log; without workers it is an office for the dlqs there
  --roles ROLES      runtime runs workers; office has letters and pages (default both: runtime,office)
  --log text|json    how events are written to stderr             (default text)
  --ui-dir DIR       take the pages from this folder, to work on them; see CONTRIBUTING.md

  bartleby serve
  bartleby serve --topic orders --to http://localhost:3000/orders
  bartleby serve -c bartleby.yaml
  bartleby serve --kafka localhost:9092

SIGTERM stops it cleanly, SIGHUP reads the configuration again.
)";

struct Options {
  std::optional<std::string> file;
  std::vector<ConfigFlag> flags;
  std::string ui_dir;
};

int refuse(const std::string& what) {
  std::cerr << "bartleby serve: " << what << "\nSee: bartleby serve --help\n";
  return kUsage;
}

// How many times faster than the machine's the clocks of this process run, so that a test need not wait half an hour
// for a schedule; nullopt: the variable makes no sense. In programs for users time is time.
std::optional<double> time_scale() {
#ifdef BARTLEBY_TESTING
  const Environment variables = process_environment();
  const auto said = variables.find("BARTLEBY_TIME_SCALE");
  if (said == variables.end()) return 1;
  char* end = nullptr;
  const double scale = std::strtod(said->second.c_str(), &end);
  if (end == said->second.c_str() || *end != '\0' || !(scale >= 1 && scale <= 10000)) return std::nullopt;
  return scale;
#else
  return 1;
#endif
}

// Fills the options; a status where that was all, or cannot be.
std::optional<int> read(std::span<const std::string_view> arguments, Options& options) {
  std::optional<std::string> to;
  std::optional<std::string> topic;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string_view name = arguments[i];
    if (name == "--help" || name == "-h") {
      std::cout << kHelp;
      return kOk;
    }
    std::optional<std::string> value;
    if (const std::size_t equals = name.find('='); name.starts_with("--") && equals != std::string_view::npos) {
      value = std::string(name.substr(equals + 1));
      name = name.substr(0, equals);
    }
    const bool known = name == "-c" || name == "--config" || name == "--data-dir" || name == "--listen" ||
                       name == "--to" || name == "--topic" || name == "--log" || name == "--roles" ||
                       name == "--ui-dir" || name == "--kafka";
    if (!known) return refuse("unknown option '" + std::string(name) + "'");
    if (!value) {
      if (i + 1 == arguments.size()) return refuse("'" + std::string(name) + "' wants a value");
      value = std::string(arguments[++i]);
    }
    if (name == "-c" || name == "--config") options.file = *value;
    if (name == "--data-dir") options.flags.push_back({"--data-dir", {"data_dir"}, *value});
    if (name == "--listen") options.flags.push_back({"--listen", {"listen"}, *value});
    if (name == "--log") options.flags.push_back({"--log", {"log", "format"}, *value});
    if (name == "--roles") options.flags.push_back({"--roles", {"roles"}, *value});
    if (name == "--kafka") options.flags.push_back({"--kafka", {"brokers", "main", "kafka", "bootstrap"}, *value});
    if (name == "--ui-dir") options.ui_dir = *value;
    if (name == "--to") to = *value;
    if (name == "--topic") topic = *value;
  }
  if (to.has_value() != topic.has_value()) return refuse("--to and --topic belong together");
  if (to) {
    options.flags.push_back({"--topic", {"workers", *topic, "topics"}, "[\"" + *topic + "\"]"});
    options.flags.push_back({"--to", {"workers", *topic, "handler", "http", "url"}, *to});
  }
  return std::nullopt;
}

std::expected<Config, std::string> configuration(const Options& options, const Handlers& handlers) {
  ConfigSources sources;
  std::optional<std::string> path = options.file;
  if (!path && ::access("bartleby.yaml", F_OK) == 0) path = "bartleby.yaml";
  if (path) {
    auto file = read_config_file(*path);
    if (!file) return std::unexpected(config_check_text(std::vector{file.error()}));
    sources.file = std::move(*file);
  }
  sources.environment = process_environment();
  sources.flags = options.flags;
  // A program's own handlers are workers whether the file names them or not.
  const auto add = [&](const std::string& name) {
    sources.flags.insert(sources.flags.begin(), {"handler " + name, {"workers", name, "handler", "builtin"}, name});
  };
  auto config = load(sources);
  if (!config) return std::unexpected(config_check_text(config.error()));
  bool more = false;
  const auto missing = [&](const std::string& name) {
    return std::ranges::none_of(config->workers, [&](const WorkerConfig& w) { return w.name == name; });
  };
  for (const auto& [name, code] : handlers.sync)
    if (missing(name)) add(name), more = true;
  for (const auto& [name, code] : handlers.async)
    if (missing(name)) add(name), more = true;
  if (more) config = load(sources);
  if (!config) return std::unexpected(config_check_text(config.error()));
  if (const auto without = missing_handlers(*config, handlers); !without.empty())
    return std::unexpected(config_check_text(without));
  return std::move(*config);
}

}  // namespace

int serve(std::span<const std::string_view> arguments, const Handlers& handlers) {
  Options options;
  if (const auto status = read(arguments, options)) return *status;
  const auto scale = time_scale();
  if (!scale) return refuse("BARTLEBY_TIME_SCALE is a number from 1 to 10000");
  auto config = configuration(options, handlers);
  if (!config) {
    std::cerr << config.error();
    return kUsage;
  }
  config->ui_dir = options.ui_dir;
  // Blocked before the first thread starts, so that all inherit it and only this one takes them.
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) sigaddset(&signals, s);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write, not the end
  prepare_sinks();

  Log log(config->log_format, config->log_level);
  const SystemClock clock(*scale);
  const std::string data_dir = config->data_dir;
  const std::size_t workers = config->workers.size();
  auto instance = Instance::start(std::move(*config), handlers, clock, log, [&log](const std::string& why) {
    log.error("process_ends", {{"why", why}});
    std::_Exit(kError);  // the flight recorder names who held the threads; nothing else must be said
  });
  if (!instance) {
    std::cerr << "bartleby serve: " << instance.error().message << '\n';
    return instance.error().code == ErrorCode::kInvalid ? kUsage : kError;
  }
  log.info("started", {{"address", (*instance)->address()}, {"data_dir", data_dir}, {"workers", workers}});
  while (true) {
    int signal = 0;
    if (::sigwait(&signals, &signal) != 0) continue;
    if (signal == SIGHUP) {
      auto fresh = configuration(options, handlers);
      if (!fresh) {
        log.error("configuration_refused", {{"why", fresh.error()}});
        continue;
      }
      if (const auto done = (*instance)->reload(std::move(*fresh)); !done)
        log.error("reload_failed", {{"why", done.error().message}});
      else
        log.info("configuration_reloaded");
      continue;
    }
    if (signal == SIGTERM || signal == SIGINT) break;
  }
  log.info("stopping");
  // A second signal means now: what is not handed over is read again by the next process.
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGINT, SIG_DFL);
  sigset_t at_once;  // not the others: their default would end the process in the middle of the hand-over
  sigemptyset(&at_once);
  sigaddset(&at_once, SIGTERM);
  sigaddset(&at_once, SIGINT);
  ::pthread_sigmask(SIG_UNBLOCK, &at_once, nullptr);
  const Instance::Stopped stopped = (*instance)->stop();
  if (stopped == Instance::Stopped::kHandlersLeft)
    log.error("handlers_left_behind", {{"why", "they did not come back within the drain"}});
  if (stopped == Instance::Stopped::kNotHandedOver)
    log.error("not_handed_over",
              {{"why", "the broker, or a handler on a worker's own thread, did not answer in time"}});
  if (stopped != Instance::Stopped::kWhole) std::_Exit(kError);
  instance->reset();
  log.info("stopped");
  return kOk;
}

}  // namespace bartleby
