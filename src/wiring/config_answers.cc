#include "wiring/config_answers.h"

#include <unistd.h>

#include "wiring/config.h"
#include "wiring/config_text.h"

namespace bartleby {
namespace {

Environment process_environment() {
  Environment variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::expected<Config, std::vector<Mistake>> read(const std::optional<std::string>& path) {
  ConfigSources sources;
  sources.environment = process_environment();
  if (path) {
    auto file = read_config_file(*path);
    if (!file) return std::unexpected(std::vector{file.error()});
    sources.file = std::move(*file);
  }
  return load(sources);
}

cli::ConfigQuestion question(std::string (*text)(const Config&)) {
  return [text](const std::optional<std::string>& path) -> cli::ConfigAnswer {
    const auto config = read(path);
    if (!config) return {false, config_check_text(config.error())};
    return {true, text(*config)};
  };
}

}  // namespace

void answer_config_questions(cli::CliContext& context) {
  context.config_check = question([](const Config& config) { return config_check_text(config); });
  context.config_show = question(config_show_text);
  context.config_env = question(config_env_text);
}

}  // namespace bartleby
