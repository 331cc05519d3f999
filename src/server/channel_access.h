// What the routes of channels share: finding channel and consumer, the tokens that open them, bodies in two forms.
//
// A token that is said must be right (403); wrong ones count as failures of their source. Unknown ids are 404. Whoever
// comes with a token and without a key is called `channel:C` or `consumer:C/K` in the audit.
#pragma once

#include <expected>
#include <string>

#include "office/channels.h"
#include "server/json.h"
#include "server/services.h"

namespace bartleby {

// Whose token opens it.
enum class Tokens : std::uint8_t { kChannel, kChannelOrAdmin, kBoth };

std::expected<Channel, Response> open_channel(const Services& services, Request& request, Tokens wanted);

struct OpenConsumer {
  Channel channel;
  Consumer consumer;
};
std::expected<OpenConsumer, Response> open_consumer(const Services& services, Request& request, Tokens wanted);

// A JSON object, or a form with texts.
std::expected<json::object, Response> read_object_or_form(const Request& request);

// Letters, digits, '.', '_' and '-', at most `longest`.
bool is_id(std::string_view text, std::size_t longest);

}  // namespace bartleby
