// `ops`: operations on many letters, followed and steered.
#include "cli/commands.h"
#include "cli/letter_text.h"
#include "cli/operation_text.h"
#include "cli/session.h"
#include "cli/text.h"
#include "codec/json_text.h"

namespace bartleby::cli {
namespace {

constexpr const char* kOperations = "/api/v1/operations";

std::string path_of(const std::string& id) { return kOperations + ("/" + encoded(id)); }

Colour colour_of(const std::string& state) {
  if (state == "halted" || state == "failed") return Colour::kBad;
  if (state == "running" || state == "paused") return Colour::kWarning;
  return state == "done" ? Colour::kGood : Colour::kFaint;
}

std::string operations_table(const Session& session, const JsonValue& document) {
  const auto& items = document["items"].items();
  if (items.empty()) return "no operations\n";
  Table table({{"ID", 40},
               {"KIND", 8},
               {"STATE", 17},
               {"LETTERS", 10, true},
               {"SUCCEEDED", 10, true},
               {"CAME BACK", 10, true},
               {"LEFT OUT", 10, true},
               {"BY", 16},
               {"PLANNED", 10},
               {"NOTE", 50}});
  for (const JsonValue& o : items) {
    const std::string state = o.text("state");
    const JsonValue& results = o["results"];
    table.add({o.text("id"),
               o.text("kind"),
               {state, colour_of(state)},
               grouped(o.integer("letters")),
               grouped(results.integer("succeeded")),
               grouped(results.integer("came_back")),
               grouped(results.integer("skipped")),
               o.text("actor"),
               ago_text(o.text("created_at"), session.now()),
               o.text("note").empty() ? o.text("reason") : o.text("note")});
  }
  return session.text_of(table) + count_text(document, items.size(), "operation") + "\n";
}

Ran list_operations(const Arguments& arguments, const CliContext& context) {
  const auto limit = arguments.number("--limit", 50, 1, 500);
  if (!limit) return std::unexpected(limit.error());
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  std::string path = kOperations + ("?limit=" + std::to_string(*limit));
  if (const auto state = arguments.value("--state")) path += "&state=" + encoded(*state);
  return session->repeat(arguments, [&]() -> Ran {
    const auto document = session->get(path);
    if (!document) return std::unexpected(document.error());
    session->show_list(
        *document, [](const JsonValue& o) { return o.text("id"); },
        [&] { return operations_table(*session, *document); });
    return exit_status::kOk;
  });
}

std::string items_text(const JsonValue& items) {
  std::string text;
  for (const JsonValue& item : items["items"].items()) {
    text += "  " + shown(item.text("letter", "(purged)")) + "  " + shown(item.text("result"));
    if (!item["to"].is_null())
      text += "  to " + shown(item["to"].text("topic")) + " " + std::to_string(item["to"].integer("partition")) + ":" +
              std::to_string(item["to"].integer("offset"));
    if (!item.text("note").empty()) text += "  " + cut(shown(item.text("note")), 200);
    text += "\n";
  }
  return text;
}

Ran show_operation(const Arguments& arguments, const CliContext& context) {
  const auto limit = arguments.number("--limit", 20, 1, 500);
  if (!limit) return std::unexpected(limit.error());
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  const std::string path = path_of(arguments.operand(0));
  std::string items_path = path + "/items?limit=" + std::to_string(*limit);
  if (const auto result = arguments.value("--result")) items_path += "&result=" + encoded(*result);
  return session->repeat(arguments, [&]() -> Ran {
    const auto operation = session->get(path);
    if (!operation) return std::unexpected(operation.error());
    const auto items = session->get(items_path);
    if (!items) return std::unexpected(items.error());
    session->show_one(*operation, operation->text("id"), [&] {
      std::string text = progress_line(*operation) + "\nplanned " +
                         ago_text(operation->text("created_at"), session->now()) + " by " +
                         shown(operation->text("actor"));
      if (!operation->text("reason").empty()) text += ": " + cut(shown(operation->text("reason")), 300);
      text += "\nselection: " + cut(shown(operation->text("selection")), 300) + "\n" + plan_text(*operation);
      text += items_text(*items);
      if (!(*items)["next"].is_null())
        text += "  … of " + grouped((*items)["count"].integer("value")) + "; more: bartleby ops show " +
                shown(operation->text("id")) + " -n 500\n";
      return text;
    });
    return exit_status::kOk;
  });
}

Ran watch(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return follow_operation(*session, context, arguments.operand(0));
}

std::string reason_body(const Arguments& arguments) {
  std::string body;
  {
    JsonObject object(body);
    if (const auto reason = arguments.value("--reason")) object.text("reason", *reason);
  }
  return body;
}

Ran order(const Arguments& arguments, const CliContext& context, const char* verb) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  const auto operation = session->post(path_of(arguments.operand(0)) + ":" + verb, reason_body(arguments));
  if (!operation) return std::unexpected(operation.error());
  session->show_one(*operation, operation->text("id"), [&] { return progress_line(*operation) + "\n"; });
  return exit_status::kOk;
}

Ran set_rate(const Arguments& arguments, const CliContext& context) {
  const auto rate = rate_of(arguments.operand(1));
  if (!rate)
    return refuse(exit_status::kUsage,
                  "a rate is letters per second, such as 50/s, not '" + arguments.operand(1) + "'");
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  std::string body;
  {
    JsonObject object(body);
    object.number("rate", *rate);
    if (const auto reason = arguments.value("--reason")) object.text("reason", *reason);
  }
  const auto operation = session->patch(path_of(arguments.operand(0)), body);
  if (!operation) return std::unexpected(operation.error());
  session->show_one(*operation, operation->text("id"),
                    [&] { return shown(operation->text("id")) + " " + grouped(operation->integer("rate")) + "/s\n"; });
  return exit_status::kOk;
}

}  // namespace

std::vector<Command> ops_commands() {
  const Option reason = reason_option();
  const auto verb = [&](const char* name, const char* summary) {
    return Command{.name = std::string("ops ") + name,
                   .summary = summary,
                   .operands = {{"OPERATION"}},
                   .options = with_server_options({reason}),
                   .examples = {std::string("bartleby ops ") + name + " op_5f0c9a7e21d34b68"},
                   .run = [name](const Arguments& a, const CliContext& c) { return order(a, c, name); }};
  };
  return {
      {.name = "ops ls",
       .summary = "list operations, the newest first",
       .options = with_server_options({{"--state", 's', "STATES", "some of planned,running,paused,halted,done,…"},
                                       {"--limit", 'n', "N", "show at most so many: 1 to 500, else 50"},
                                       watch_option()}),
       .examples = {"bartleby ops ls", "bartleby ops ls -s running,halted"},
       .run = list_operations},
      {.name = "ops show",
       .summary = "one operation: its plan, and what became of its letters",
       .operands = {{"OPERATION"}},
       .options = with_server_options({{"--result",
                                        0,
                                        "RESULT",
                                        "only letters with this result",
                                        {"pending", "sent", "succeeded", "passed", "came_back", "unknown", "skipped"}},
                                       {"--limit", 'n', "N", "show at most so many letters: 1 to 500, else 20"},
                                       watch_option()}),
       .examples = {"bartleby ops show op_5f0c9a7e21d34b68",
                    "bartleby ops show op_5f0c9a7e21d34b68 --result came_back"},
       .run = show_operation},
      {.name = "ops watch",
       .summary = "follow one until it ends or halts; exit status 6 if only partly done, 7 if halted",
       .operands = {{"OPERATION"}},
       .options = server_options(),
       .examples = {"bartleby ops watch op_5f0c9a7e21d34b68"},
       .run = watch},
      verb("start", "carry a plan out"),
      verb("pause", "send nothing more until it is resumed"),
      verb("resume", "go on; what came back before does not halt it again"),
      verb("cancel", "end it: what was sent stays sent, what was not is left as it is"),
      {.name = "ops rate",
       .summary = "send so many letters per second from now on",
       .operands = {{"OPERATION"}, {"RATE"}},
       .options = with_server_options({reason}),
       .examples = {"bartleby ops rate op_5f0c9a7e21d34b68 200/s"},
       .run = set_rate}};
}

}  // namespace bartleby::cli
