// The commands of this folder, one file each. `all_commands` puts them into the order of the help.
// Those with several verbs (`workers ls`, `workers show`) give a row per verb.
#pragma once

#include <vector>

#include "cli/cli.h"

namespace bartleby::cli {

std::vector<Command> send_commands();
std::vector<Command> tail_commands();
std::vector<Command> topics_commands();
std::vector<Command> workers_commands();
std::vector<Command> parked_commands();
std::vector<Command> explain_commands();
std::vector<Command> letters_commands();
std::vector<Command> letter_order_commands();
std::vector<Command> issues_commands();
std::vector<Command> ops_commands();
std::vector<Command> dlqs_commands();
std::vector<Command> archive_commands();
std::vector<Command> purge_commands();
std::vector<Command> audit_commands();
std::vector<Command> channels_commands();
std::vector<Command> keys_commands();
std::vector<Command> status_commands();
std::vector<Command> config_commands();
std::vector<Command> receiver_commands();
std::vector<Command> api_commands();
std::vector<Command> completion_commands();
std::vector<Command> version_commands();
std::vector<Command> help_commands();

}  // namespace bartleby::cli
