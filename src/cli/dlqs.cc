// `dlqs`: the dead letter topics, how full and how old.
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text.h"

namespace bartleby::cli {
namespace {

std::string dlqs_table(const Session& session, const std::vector<JsonValue>& items) {
  if (items.empty()) return "no dlqs: no topic looks like one, and no worker names one\n";
  Table table({{"DLQ", 60},
               {"CLASS", 10},
               {"OPEN", 12, true},
               {"REPLAYING", 12, true},
               {"RESOLVED", 12, true},
               {"DISCARDED", 12, true},
               {"OLDEST OPEN", 12},
               {"NOT TAKEN IN", 12, true}});
  for (const JsonValue& dlq : items)
    table.add({dlq.text("name"), dlq.text("class"), grouped(dlq.integer("open")),
               grouped(dlq["letters"].integer("replaying")), grouped(dlq["letters"].integer("resolved")),
               grouped(dlq["letters"].integer("discarded")), ago_text(dlq.text("oldest"), session.now()),
               grouped(dlq.integer("intake_lag"))});
  return session.text_of(table);
}

Ran list_dlqs(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return session->repeat(arguments, [&]() -> Ran {
    const auto document = session->get("/api/v1/dlqs");
    if (!document) return std::unexpected(document.error());
    const auto& items = (*document)["items"].items();
    session->show_list(
        *document, [](const JsonValue& dlq) { return dlq.text("name"); },
        [&] {
          std::string text = dlqs_table(*session, items);
          return items.empty() ? text : text + counted(static_cast<std::int64_t>(items.size()), "dlq") + "\n";
        });
    return exit_status::kOk;
  });
}

Ran show_dlq(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return session->repeat(arguments, [&]() -> Ran {
    const auto dlq = session->get("/api/v1/dlqs/" + encoded(arguments.operand(0)));
    if (!dlq) return std::unexpected(dlq.error());
    session->show_one(*dlq, dlq->text("name"), [&] {
      std::string text = dlqs_table(*session, {*dlq});
      if (const std::int64_t missed = dlq->integer("missed"); missed > 0)
        text += counted(missed, "record") + " were deleted by the topic's retention before they were taken in\n";
      if (const std::int64_t expiring = dlq->integer("expiring"); expiring > 0)
        text += counted(expiring, "record") + " not taken in will be too old for the topic within a day\n";
      return text + "its letters: bartleby letters ls -q dlq:" + shown(dlq->text("name")) + "\n";
    });
    return exit_status::kOk;
  });
}

}  // namespace

std::vector<Command> dlqs_commands() {
  return {{.name = "dlqs ls",
           .summary = "list dead letter topics: how full, how old",
           .options = with_server_options({watch_option()}),
           .examples = {"bartleby dlqs ls", "bartleby dlqs ls -o name"},
           .run = list_dlqs},
          {.name = "dlqs show",
           .summary = "one of them",
           .operands = {{"DLQ"}},
           .options = with_server_options({watch_option()}),
           .examples = {"bartleby dlqs show orders.dlq"},
           .run = show_dlq}};
}

}  // namespace bartleby::cli
