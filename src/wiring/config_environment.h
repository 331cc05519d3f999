// Variables and flags as layers over the file: `BARTLEBY__WORKERS__ORDERS__RETRY__MAX_ATTEMPTS=5`.
//
// A variable is `BARTLEBY__` and the path in upper case, `__` between levels, `-` and `.` as `_`. Names of workers,
// brokers and policies are those that the file has: a variable never makes one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "wiring/config.h"
#include "wiring/config_keys.h"

namespace bartleby {

struct Variable {
  std::string name;
  std::vector<std::string> path;
  const KeyTree* tree = nullptr;

  std::string key() const;  // the path with dots
};

// Every variable there is for a configuration with these workers, brokers and policies.
std::vector<Variable> variables_for(const ConfigNode& root);

std::string variable_name(const std::vector<std::string>& path);

// What the variables say, as a tree. `file` gives the names.
ConfigNode variables_layer(const Environment& environment, const ConfigNode& file, Mistakes& mistakes);

ConfigNode flags_layer(std::span<const ConfigFlag> flags, Mistakes& mistakes);

// The variables of this process.
Environment process_environment();

}  // namespace bartleby
