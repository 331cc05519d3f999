// `archive`: letters that nobody dealt with in time, packed away, and how they come back.
#include "cli/commands.h"
#include "cli/letter_text.h"
#include "cli/session.h"
#include "cli/text.h"
#include "codec/json_text.h"

namespace bartleby::cli {
namespace {

std::string archives_table(const Session& session, const JsonValue& document) {
  const auto& items = document["items"].items();
  if (items.empty())
    return "no archives: letters go there when their dlq's retention is over (docs/configuration.md, dlqs)\n";
  Table table({{"ID", 32},
               {"DLQ", 48},
               {"LETTERS", 10, true},
               {"STILL IN IT", 12, true},
               {"BYTES", 12, true},
               {"DIED", 24},
               {"ARCHIVED", 10}});
  for (const JsonValue& one : items)
    table.add({one.text("id"), one.text("dlq"), grouped(one.integer("letters")), grouped(one.integer("here")),
               grouped(one.integer("bytes")), one.text("first").substr(0, 10) + " … " + one.text("last").substr(0, 10),
               ago_text(one.text("created_at"), session.now())});
  return session.text_of(table) + count_text(document, items.size(), "archive") + "\n";
}

Ran list_archives(const Arguments& arguments, const CliContext& context) {
  const auto limit = arguments.number("--limit", 50, 1, 500);
  if (!limit) return std::unexpected(limit.error());
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return session->repeat(arguments, [&]() -> Ran {
    const auto document = session->get("/api/v1/archives?limit=" + std::to_string(*limit));
    if (!document) return std::unexpected(document.error());
    session->show_list(
        *document, [](const JsonValue& one) { return one.text("id"); },
        [&] { return archives_table(*session, *document); });
    return exit_status::kOk;
  });
}

std::string restore_body(const Arguments& arguments) {
  std::string body;
  {
    JsonObject object(body);
    if (const auto reason = arguments.value("--reason")) object.text("reason", *reason);
  }
  return body;
}

Ran restore(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  const std::string& id = arguments.operand(0);
  const auto done = session->post("/api/v1/archives/" + encoded(id) + ":restore", restore_body(arguments));
  if (!done) return std::unexpected(done.error());
  session->show_one(*done, done->text("id"), [&] {
    std::string text = counted(done->integer("restored"), "letter") + " open again";
    if (const std::int64_t left = done->integer("left_alone"); left > 0)
      text += "; " + std::to_string(left) + " not archived in it any more, left alone";
    return text + "\n";
  });
  return exit_status::kOk;
}

}  // namespace

std::vector<Command> archive_commands() {
  return {{.name = "archive ls",
           .summary = "list archives of letters, the newest first",
           .options =
               with_server_options({{"--limit", 'n', "N", "show at most so many: 1 to 500, else 50"}, watch_option()}),
           .examples = {"bartleby archive ls", "bartleby archive ls -o name"},
           .run = list_archives},
          {.name = "archive restore",
           .summary = "its letters are open again, with their bytes",
           .operands = {{"ARCHIVE"}},
           .options = with_server_options({reason_option()}),
           .examples = {"bartleby archive restore arc_1f0c9a2b7d3e4f5061728394 -r 'the vendor wants them after all'"},
           .run = restore}};
}

}  // namespace bartleby::cli
