// `audit`: who did what, and whether the lines are as they were written.
#include "cli/commands.h"
#include "cli/letter_text.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/text.h"

namespace bartleby::cli {
namespace {

std::string lines_table(const Session& session, const JsonValue& document) {
  const auto& items = document["items"].items();
  if (items.empty()) return "nothing was done yet\n";
  Table table({{"LINE", 12, true},
               {"AT", 24},
               {"ACTOR", 24},
               {"ACTION", 16},
               {"SUBJECT", 36},
               {"FROM", 12},
               {"TO", 12},
               {"REASON", 60}});
  for (const JsonValue& line : items)
    table.add({std::to_string(line.integer("line")), line.text("at"), line.text("actor"), line.text("action"),
               line.text("subject"), line.text("from"), line.text("to"), line.text("reason")});
  return session.text_of(table) + count_text(document, items.size(), "line") + "\n";
}

Ran list_lines(const Arguments& arguments, const CliContext& context) {
  const auto limit = arguments.number("--limit", 50, 1, 500);
  if (!limit) return std::unexpected(limit.error());
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  std::string path = "/api/v1/audit?limit=" + std::to_string(*limit);
  if (const auto subject = arguments.operand_if(0)) path += "&subject=" + encoded(*subject);
  return session->repeat(arguments, [&]() -> Ran {
    const auto document = session->get(path);
    if (!document) return std::unexpected(document.error());
    session->show_list(
        *document, [](const JsonValue& line) { return std::to_string(line.integer("line")); },
        [&] { return lines_table(*session, *document); });
    return exit_status::kOk;
  });
}

Ran verify(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  auto verdict = session->get("/api/v1/audit:verify");
  Progress progress(session->err());
  while (verdict && !(*verdict)["next"].is_null()) {
    progress.tell(counted(verdict->integer("lines"), "line") + " are as they were written");
    verdict = session->get("/api/v1/audit:verify?from=" + std::to_string(verdict->integer("next")));
  }
  progress.tell("");
  if (!verdict) return std::unexpected(verdict.error());
  const bool good = verdict->truth("good");
  session->show_one(*verdict, good ? "good" : "bad", [&] {
    const std::string lines = counted(verdict->integer("lines"), "line");
    return good ? lines + ", all as they were written\n" : shown(verdict->text("problem")) + ", of " + lines + "\n";
  });
  return good ? exit_status::kOk : exit_status::kError;
}

}  // namespace

std::vector<Command> audit_commands() {
  return {{.name = "audit ls",
           .summary = "list who did what, newest first",
           .operands = {{"SUBJECT", false}},
           .options =
               with_server_options({{"--limit", 'n', "N", "show at most so many: 1 to 500, else 50"}, watch_option()}),
           .details = "A subject is a letter, an issue or an operation, by its id.",
           .examples = {"bartleby audit ls", "bartleby audit ls iss_9c2b41d07e55a3f1"},
           .run = list_lines},
          {.name = "audit verify",
           .summary = "check that no line was changed, removed or added by hand; exit status 1 if one was",
           .options = server_options(),
           .details = "The lines are read 50,000 at a time; on a terminal it says how far it has come.",
           .examples = {"bartleby audit verify"},
           .run = verify}};
}

}  // namespace bartleby::cli
