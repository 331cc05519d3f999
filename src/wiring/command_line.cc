#include "wiring/command_line.h"

#include <unistd.h>

#include "base/version.h"
#include "wiring/config.h"
#include "wiring/config_environment.h"
#include "wiring/config_text.h"
#include "wiring/demo.h"
#include "wiring/handler_check.h"
#include "wiring/serve.h"

namespace bartleby {
namespace {

// The same file that `serve` would take.
std::expected<Config, std::vector<Mistake>> read(std::optional<std::string> path) {
  ConfigSources sources;
  sources.environment = process_environment();
  if (!path && ::access("bartleby.yaml", F_OK) == 0) path = "bartleby.yaml";
  if (path) {
    auto file = read_config_file(*path);
    if (!file) return std::unexpected(std::vector{file.error()});
    sources.file = std::move(*file);
  }
  return load(sources);
}

cli::ConfigQuestion question(std::string (*text)(const Config&), const Handlers* needed = nullptr) {
  return [text, needed](const std::optional<std::string>& path) -> cli::ConfigAnswer {
    const auto config = read(path);
    if (!config) return {false, config_check_text(config.error())};
    if (needed != nullptr)
      if (const auto missing = missing_handlers(*config, *needed); !missing.empty())
        return {false, config_check_text(missing)};
    return {true, text(*config)};
  };
}

cli::Command serve_command(const Handlers& handlers) {
  return {.name = "serve",
          .summary = "run workers and the API",
          .options = {{"--config", 'c', "FILE", "the configuration"},
                      {"--data-dir", 0, "FOLDER", "where topics and offsets are kept"},
                      {"--listen", 0, "ADDRESS:PORT", "where the API listens"},
                      {"--to", 0, "URL", "one worker that posts every message there"},
                      {"--topic", 0, "TOPIC", "what that worker reads"},
                      {"--kafka", 0, "HOST:PORT", "Apache Kafka instead of the embedded log"},
                      {"--roles", 0, "ROLES", "what it does: runtime, office or both"},
                      {"--log", 0, "FORMAT", "how events are written", {"text", "json"}}},
          .run_words = [&handlers](std::span<const std::string_view> words) { return serve(words, handlers); }};
}

}  // namespace

int run_command_line(int argc, char** argv, const Handlers& handlers) {
  const std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  cli::CliContext context;
  context.version = kVersion;
  context.commands.push_back(serve_command(handlers));
  context.commands.push_back(demo_command());
  context.config_check = question([](const Config& config) { return config_check_text(config); }, &handlers);
  context.config_show = question(config_show_text);
  context.config_env = question(config_env_text);
  return cli::run_cli(words, std::move(context));
}

}  // namespace bartleby
