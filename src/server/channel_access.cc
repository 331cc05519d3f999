#include "server/channel_access.h"

#include <algorithm>

#include "server/access.h"

namespace bartleby {
namespace {

Response unknown(const std::string& what, const std::string& id) {
  return problem(ProblemType::kNotFound, "no " + what + " " + id.substr(0, 100));
}

// Nothing where the token is right, or is not needed. Whoever has no key is `who` from then on. A right token passes
// whatever others at its address have tried; one that was left out is no guess.
std::optional<Response> refused_by(const Services& services, Request& request, const Channel& channel,
                                   const char* header, const std::string& hash, bool admin_does, std::string who) {
  const auto said = request.header_values(header);
  if (said.empty() && admin_does && request.caller.may(Scope::kAdmin)) return std::nullopt;
  if (said.empty()) return services.access->no_token("this needs the header " + std::string(header));
  if (said.size() == 1 && is_token(said.front(), hash)) {
    if (!request.caller.known) request.caller.name = std::move(who);
    return std::nullopt;
  }
  return services.access->wrong_token(request, channel.id, "wrong token in the header " + std::string(header));
}

}  // namespace

std::expected<Channel, Response> open_channel(const Services& services, Request& request, Tokens wanted) {
  const std::string& id = request.parameter("channel");
  std::optional<Channel> channel;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto found = find_channel(connection, id);
    if (!found) return std::unexpected(found.error());
    channel = std::move(*found);
    return {};
  });
  if (!read) return std::unexpected(store_problem(read.error()));
  if (!channel) return std::unexpected(unknown("channel", id));
  if (auto refused = refused_by(services, request, *channel, "x-broker-channel-token", channel->token,
                                wanted == Tokens::kChannelOrAdmin, "channel:" + channel->id))
    return std::unexpected(std::move(*refused));
  return std::move(*channel);
}

std::expected<OpenConsumer, Response> open_consumer(const Services& services, Request& request, Tokens wanted) {
  auto channel = open_channel(services, request, wanted);
  if (!channel) return std::unexpected(std::move(channel.error()));
  const std::string& id = request.parameter("consumer");
  std::optional<Consumer> consumer;
  const auto read = services.store->read([&](Connection& connection) -> Result<void> {
    auto found = find_consumer(connection, channel->id, id);
    if (!found) return std::unexpected(found.error());
    consumer = std::move(*found);
    return {};
  });
  if (!read) return std::unexpected(store_problem(read.error()));
  if (!consumer) return std::unexpected(unknown("consumer", channel->id + "/" + id));
  if (wanted == Tokens::kBoth)
    if (auto refused = refused_by(services, request, *channel, "x-broker-consumer-token", token_hash(consumer->token),
                                  false, "consumer:" + channel->id + "/" + consumer->id))
      return std::unexpected(std::move(*refused));
  return OpenConsumer{std::move(*channel), std::move(*consumer)};
}

std::expected<json::object, Response> read_object_or_form(const Request& request) {
  if (!request.header("content-type").value_or("").starts_with("application/x-www-form-urlencoded"))
    return read_object(request);
  json::object out;
  for (const auto& [name, value] : parse_url_query(request.body)) out[name] = value;
  return out;
}

bool is_id(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

}  // namespace bartleby
