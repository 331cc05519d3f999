// `parked`: messages that wait for their next attempt; running them now, or giving them up.
#include "cli/commands.h"
#include "cli/letter_text.h"
#include "cli/session.h"
#include "cli/text.h"
#include "codec/json_text.h"
#include "model/failure.h"

namespace bartleby::cli {
namespace {

std::string path_of(const std::string& worker) { return "/api/v1/workers/" + encoded(worker) + "/parked"; }

std::string place_text(const JsonValue& message) {
  return std::to_string(message.integer("partition")) + ":" + std::to_string(message.integer("offset"));
}

std::string parked_table(const Session& session, const JsonValue& document, const std::string& worker) {
  const auto& items = document["items"].items();
  if (items.empty()) return "nothing is parked at " + shown(worker) + "\n";
  bool topics = false;
  for (const JsonValue& m : items) topics = topics || m.text("topic") != items.front().text("topic");
  std::vector<Column> columns = {{"OFFSET", 32},   {"KEY", 24},  {"KIND", 12},        {"ERROR", 44},
                                 {"ATTEMPTS", 10}, {"NEXT", 16}, {"FIRST FAILED", 14}};
  if (topics) columns.insert(columns.begin(), {"TOPIC", 32});
  Table table(columns);
  for (const JsonValue& m : items) {
    std::string attempts = std::to_string(m.integer("attempts"));
    if (const auto most = m["max_attempts"].if_integer()) attempts += " of " + std::to_string(*most);
    std::vector<Cell> row = {place_text(m),
                             m["key"].if_bytes().value_or("-"),
                             m["error"].text("kind"),
                             error_text(m["error"]),
                             attempts,
                             m.text("state") == "kept" ? "never: kept" : ago_text(m.text("due"), session.now()),
                             ago_text(m.text("first_failure_at"), session.now())};
    if (topics) row.insert(row.begin(), m.text("topic"));
    table.add(std::move(row));
  }
  const auto total = document["count"].integer("value", static_cast<std::int64_t>(items.size()));
  std::string count = counted(total, "parked message");
  if (total > static_cast<std::int64_t>(items.size()))
    count += ", the first " + grouped(static_cast<std::int64_t>(items.size())) + " shown";
  return session.text_of(table) + count + "\n";
}

Ran list_parked(const Arguments& arguments, const CliContext& context) {
  const auto limit = arguments.number("--limit", 50, 1, 500);
  if (!limit) return std::unexpected(limit.error());
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  std::string path = path_of(arguments.operand(0)) + "?limit=" + std::to_string(*limit);
  if (const auto kind = arguments.value("--kind")) path += "&kind=" + encoded(*kind);
  return session->repeat(arguments, [&]() -> Ran {
    const auto document = session->get(path);
    if (!document) return std::unexpected(document.error());
    session->show_list(*document, place_text, [&] { return parked_table(*session, *document, arguments.operand(0)); });
    return exit_status::kOk;
  });
}

// The closing brace is written when the object ends.
void write_selection(std::string& body, const std::optional<Place>& at, const std::optional<std::string>& kind,
                     const std::optional<std::string>& topic) {
  JsonObject object(body);
  if (at) {
    object.number("partition", at->partition);
    object.number("offset", at->offset);
    if (topic) object.text("topic", *topic);
  } else if (kind) {
    object.text("kind", *kind);
  } else {
    object.yes("all");
  }
}

// What the order means: one message, all of a kind, or all. Never all by leaving something out.
std::expected<std::string, Failure> selection(const Arguments& arguments) {
  const auto place = arguments.operand_if(1);
  const auto kind = arguments.value("--kind");
  if ((place ? 1 : 0) + (kind ? 1 : 0) + (arguments.has("--all") ? 1 : 0) != 1)
    return refuse(exit_status::kUsage, "say which: P:OFFSET, --kind KIND or --all");
  const auto at = place ? place_of(*place) : std::nullopt;
  if (place && !at)
    return refuse(exit_status::kUsage, "a message is named PARTITION:OFFSET, like 3:12345, not '" + *place + "'");
  std::string body;
  write_selection(body, at, kind, arguments.value("--topic"));
  return body;
}

Ran order(const Arguments& arguments, const CliContext& context, const char* verb, const char* done) {
  const auto body = selection(arguments);
  if (!body) return std::unexpected(body.error());
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  const auto answer = session->post(with_reason(path_of(arguments.operand(0)) + ":" + verb, arguments), *body);
  if (!answer) return std::unexpected(answer.error());
  const std::int64_t messages = answer->integer("messages");
  session->show_one(*answer, std::to_string(messages),
                    [&] { return counted(messages, "message") + " " + done + "\n"; });
  return exit_status::kOk;
}

std::vector<std::string> kinds() { return {kKindNames.begin(), kKindNames.end()}; }

}  // namespace

std::vector<Command> parked_commands() {
  const Option kind{"--kind", 0, "KIND", "only failures of this kind", kinds()};
  const std::vector<Operand> operands = {{"WORKER"}, {"P:OFFSET", false}};
  const std::vector<Option> options =
      with_server_options({kind,
                           {"--all", 0, "", "all that are parked"},
                           {"--topic", 0, "TOPIC", "of P:OFFSET, where the worker has several"},
                           reason_option()});
  return {{.name = "parked ls",
           .summary = "list messages that wait for their next attempt",
           .operands = {{"WORKER"}},
           .options = with_server_options(
               {kind, {"--limit", 'n', "N", "show at most so many: 1 to 500, else 50"}, watch_option()}),
           .examples = {"bartleby parked ls orders", "bartleby parked ls orders --kind timeout"},
           .run = list_parked},
          {.name = "parked run-now",
           .summary = "run parked messages now instead of when they are due",
           .operands = operands,
           .options = options,
           .examples = {"bartleby parked run-now orders 3:12345", "bartleby parked run-now orders --all"},
           .run = [](const Arguments& a, const CliContext& c) { return order(a, c, "run-now", "told to run now"); }},
          {.name = "parked give-up",
           .summary = "make parked messages dead letters now",
           .operands = operands,
           .options = options,
           .details = "The letters have the reason GIVEN_UP. What was waiting behind them goes on.",
           .examples = {"bartleby parked give-up orders 3:12345", "bartleby parked give-up orders --kind config"},
           .run = [](const Arguments& a, const CliContext& c) { return order(a, c, "give-up", "given up"); }}};
}

}  // namespace bartleby::cli
