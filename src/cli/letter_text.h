// Pieces of text that several commands about letters and failures share.
// Pure; what comes from a server is made fit for a terminal by whoever prints it, unless it says otherwise.
#pragma once

#include <string>
#include <vector>

#include "cli/json_value.h"

namespace bartleby::cli {

// Whether the caller may see what the message holds: else the server leaves its key out, also where it has none.
bool shows_payload(const JsonValue& letter);
std::string error_text(const JsonValue& error);   // `Type: message`
std::string sparkline(const JsonValue& numbers);  // one character each, the highest is full; a blank for none
std::string names_text(const JsonValue& list);    // `a, b`; `-` where there is none
std::string count_text(const JsonValue& document, std::size_t listed, std::string_view thing);  // `412 letters, …`

}  // namespace bartleby::cli
