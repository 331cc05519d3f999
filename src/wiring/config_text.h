// What `bartleby config check`, `show` and `env` print, and docs/configuration.md.
// Secrets and passwords inside URLs are never in it.
#pragma once

#include <string>
#include <vector>

#include "wiring/config.h"

namespace bartleby {

// One line per mistake, and how many there are.
std::string config_check_text(const std::vector<Mistake>& mistakes);
// That all is well, and what would run.
std::string config_check_text(const Config& config);

// The configuration that holds, as YAML that can be read again, with where each value came from.
std::string config_show_text(const Config& config);
// The same line by line, each with where its value came from; empty where there is nothing to say.
std::vector<std::pair<std::string, std::string>> config_lines(const Config& config);

// Every key with its variable.
std::string config_env_text(const Config& config);

// docs/configuration.md, whole.
std::string config_docs_text();

}  // namespace bartleby
