// `channels`, `consumers`: webhooks, made and listed. `check`: dead jobs in the words of Nagios.
#include "cli/commands.h"
#include "cli/letter_text.h"
#include "cli/session.h"
#include "cli/text.h"
#include "codec/json_text.h"

namespace bartleby::cli {
namespace {

std::string channel_path(const std::string& channel) { return "/channel/" + encoded(channel); }
std::string consumer_path(const Arguments& arguments) {
  return channel_path(arguments.operand(0)) + "/consumer/" + encoded(arguments.operand(1));
}

std::expected<JsonValue, Failure> put(Session& session, const std::string& path, const std::string& body) {
  const auto reply = session.client().call(
      {.method = "PUT", .path = path, .body = body, .headers = {"Content-Type: application/json"}});
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 300) return std::unexpected(failure_of(*reply, session.client().server()));
  auto document = JsonValue::parse(reply->body);
  if (!document) return refuse(exit_status::kError, "the server's answer is no JSON");
  return std::move(*document);
}

std::string told_once(const Session& session, const JsonValue& made) {
  if (!made.text("token").empty()) session.err() << shown(made.text("id")) << ": its token is shown this once\n";
  return made.text("token").empty() ? made.text("id") + "\n" : made.text("token") + "\n";
}

// The closing brace is written when the object ends.
void write_channel(std::string& body, const Arguments& arguments, std::int64_t partitions) {
  JsonObject object(body);
  object.text("name", arguments.value("--name").value_or(arguments.operand(0)));
  if (const auto token = arguments.value("--token")) object.text("token", *token);
  object.number("partitions", partitions);
}

Ran put_channel(const Arguments& arguments, const CliContext& context) {
  const auto partitions = arguments.number("--partitions", 1, 1, 64);
  if (!partitions) return std::unexpected(partitions.error());
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  std::string body;
  write_channel(body, arguments, *partitions);
  const auto made = put(*session, with_reason(channel_path(arguments.operand(0)), arguments), body);
  if (!made) return std::unexpected(made.error());
  session->show_one(*made, made->text("id"), [&] { return told_once(*session, *made); });
  return exit_status::kOk;
}

Ran list_channels(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return session->repeat(arguments, [&]() -> Ran {
    const auto document = session->get("/channels");
    if (!document) return std::unexpected(document.error());
    session->show_list(
        *document, [](const JsonValue& channel) { return channel.text("id"); },
        [&]() -> std::string {
          if ((*document)["items"].items().empty()) return "no channels\n";
          Table table({{"ID", 60}, {"NAME", 60}, {"PARTITIONS", 10, true}, {"MADE", 12}});
          for (const JsonValue& channel : (*document)["items"].items())
            table.add({channel.text("id"), channel.text("name"), std::to_string(channel.integer("partitions")),
                       ago_text(channel.text("createdAt"), session->now())});
          return session->text_of(table);
        });
    return exit_status::kOk;
  });
}

void write_consumer(std::string& body, const Arguments& arguments) {
  JsonObject object(body);
  object.text("name", arguments.value("--name").value_or(arguments.operand(1)));
  object.text("callbackUrl", arguments.value("--url").value_or(""));
  if (const auto token = arguments.value("--token")) object.text("token", *token);
  if (arguments.has("--paused")) object.yes("paused");
  if (const auto retry = arguments.value("--retry")) {
    object.name("retry");
    body += *retry;
  }
}

Ran put_consumer(const Arguments& arguments, const CliContext& context) {
  if (!arguments.has("--url")) return refuse(exit_status::kUsage, "say where to: --url https://pay.example/hook");
  if (const auto retry = arguments.value("--retry"); retry && !JsonValue::parse(*retry))
    return refuse(exit_status::kUsage, "--retry is a JSON object such as {\"max_retries\": 3}");
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  std::string body;
  write_consumer(body, arguments);
  const auto made = put(*session, with_reason(consumer_path(arguments), arguments), body);
  if (!made) return std::unexpected(made.error());
  session->show_one(*made, made->text("id"), [&] { return told_once(*session, *made); });
  return exit_status::kOk;
}

Ran list_consumers(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return session->repeat(arguments, [&]() -> Ran {
    const auto document = session->get(channel_path(arguments.operand(0)) + "/consumers");
    if (!document) return std::unexpected(document.error());
    session->show_list(
        *document, [](const JsonValue& consumer) { return consumer.text("id"); },
        [&]() -> std::string {
          if ((*document)["items"].items().empty()) return "no consumers\n";
          Table table({{"ID", 60}, {"NAME", 40}, {"WORKER", 60}, {"STATE", 8}, {"URL", 80}});
          for (const JsonValue& consumer : (*document)["items"].items())
            table.add({consumer.text("id"), consumer.text("name"), consumer.text("worker"),
                       consumer.truth("paused") ? "paused" : "running", consumer.text("callbackUrl")});
          return session->text_of(table);
        });
    return exit_status::kOk;
  });
}

Ran remove_consumer(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  const auto reply =
      session->client().call({.method = "DELETE", .path = with_reason(consumer_path(arguments), arguments)});
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 300) return std::unexpected(failure_of(*reply, session->client().server()));
  session->err() << shown(arguments.operand(1)) << " removed\n";
  return exit_status::kOk;
}

// What Nagios runs: one line, and 0, 1, 2 or 3 for fine, warning, critical and unknown.
Ran check(const Arguments& arguments, const CliContext& context) {
  constexpr int kWarning = 1, kCritical = 2, kUnknown = 3;
  const auto warn = arguments.number("--warn", 1, 0, INT64_MAX), crit = arguments.number("--crit", 10, 0, INT64_MAX);
  const auto unknown = [&](const Failure& failure) -> Ran {
    *context.out << "UNKNOWN - " << shown(failure.text.substr(0, failure.text.find('\n'))) << "\n";
    return kUnknown;
  };
  if (!warn) return unknown(warn.error());
  if (!crit) return unknown(crit.error());
  auto session = Session::open(arguments, context);
  if (!session) return unknown(session.error());
  const auto dlq = arguments.value("--dlq");
  const auto document = session->get(dlq ? "/api/v1/dlqs/" + encoded(*dlq) : "/dlq-status");
  if (!document) return unknown(document.error());
  std::int64_t all = 0;
  std::string worst;
  std::int64_t most = 0;
  if (dlq) {
    all = document->integer("open");
  } else {
    for (const JsonValue& consumer : (*document)["consumers"].items()) {
      const std::int64_t dead = consumer.integer("deadCount");
      all += dead;
      if (dead > most) most = dead, worst = consumer.text("channelId") + "/" + consumer.text("consumerId");
    }
  }
  const int status = all >= *crit ? kCritical : all >= *warn ? kWarning : exit_status::kOk;
  constexpr const char* kWords[] = {"OK", "WARNING", "CRITICAL"};
  *context.out << kWords[status] << " - " << all << (dlq ? " open letters in " + shown(*dlq) : " dead jobs");
  if (!worst.empty()) *context.out << ", most of them " << most << " of " << shown(worst);
  *context.out << " | dead=" << all << ";" << *warn << ";" << *crit << ";0\n";
  return status;
}

}  // namespace

std::vector<Command> channels_commands() {
  const Option name{"--name", 0, "NAME", "for people; else the id"};
  const Option token{"--token", 0, "TOKEN", "8 to 255 characters; else one is made, and printed this once"};
  return {{.name = "channels put",
           .summary = "make a channel, or change it",
           .operands = {{"CHANNEL"}},
           .options = with_server_options(
               {name, token, {"--partitions", 0, "N", "how many at least: 1 to 64, else 1"}, reason_option()}),
           .examples = {"bartleby channels put order-events --name 'Order Events'"},
           .run = put_channel},
          {.name = "channels ls",
           .summary = "list channels",
           .options = with_server_options({watch_option()}),
           .examples = {"bartleby channels ls"},
           .run = list_channels},
          {.name = "consumers put",
           .summary = "register a consumer of a channel, or change it; it gets what is broadcast from now on",
           .operands = {{"CHANNEL"}, {"CONSUMER"}},
           .options = with_server_options({{"--url", 0, "URL", "where messages are posted"},
                                           name,
                                           token,
                                           {"--retry", 0, "JSON", "as workers.NAME.retry in the configuration"},
                                           {"--paused", 0, "", "it gets nothing until it is put again without this"},
                                           reason_option()}),
           .examples = {"bartleby consumers put order-events payment-service --url https://pay.example/hook"},
           .run = put_consumer},
          {.name = "consumers ls",
           .summary = "list the consumers of a channel",
           .operands = {{"CHANNEL"}},
           .options = with_server_options({watch_option()}),
           .examples = {"bartleby consumers ls order-events"},
           .run = list_consumers},
          {.name = "consumers rm",
           .summary = "remove a consumer that has no dead jobs",
           .operands = {{"CHANNEL"}, {"CONSUMER"}},
           .options = with_server_options({reason_option()}),
           .examples = {"bartleby consumers rm order-events payment-service"},
           .run = remove_consumer},
          {.name = "check",
           .summary = "dead jobs for Nagios: exit status 0 fine, 1 warning, 2 critical, 3 unknown",
           .options = with_server_options({{"--dlq", 0, "NAME", "open letters of one dlq, instead of all dead jobs"},
                                           {"--warn", 0, "N", "warning from so many on; else 1"},
                                           {"--crit", 0, "N", "critical from so many on; else 10"}}),
           .examples = {"bartleby check --warn 1 --crit 10", "bartleby check --dlq orders.dlq --warn 5 --crit 50"},
           .run = check,
           .mistake = 3}};  // 2 would be critical
}

}  // namespace bartleby::cli
