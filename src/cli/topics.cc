// `topics ls`: the topics there are, how much is in them.
#include "cli/commands.h"
#include "cli/session.h"
#include "cli/text.h"

namespace bartleby::cli {
namespace {

std::string topics_table(const Session& session, const JsonValue& document) {
  const auto& items = document["items"].items();
  if (items.empty()) return "no topics yet; `bartleby send TOPIC VALUE` makes one\n";
  Table table({{"TOPIC", 60}, {"PARTITIONS", 12, true}, {"MESSAGES", 16, true}, {"KEPT", 24}});
  for (const JsonValue& topic : items) {
    const auto retention = topic["retention_ms"].if_integer();
    std::string kept = retention ? span_text(Duration(*retention)) : "for ever";
    if (topic.truth("compacted")) kept = "last per key" + (retention ? ", " + kept : "");
    table.add({topic.text("name"), std::to_string(topic["partitions"].items().size()),
               grouped(topic.integer("records")), kept});
  }
  return session.text_of(table) + counted(static_cast<std::int64_t>(items.size()), "topic") + "\n";
}

Ran list_topics(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return session->repeat(arguments, [&]() -> Ran {
    const auto document = session->get("/api/v1/topics");
    if (!document) return std::unexpected(document.error());
    session->show_list(
        *document, [](const JsonValue& topic) { return topic.text("name"); },
        [&] { return topics_table(*session, *document); });
    return exit_status::kOk;
  });
}

}  // namespace

std::vector<Command> topics_commands() {
  return {{.name = "topics ls",
           .summary = "list topics",
           .options = with_server_options({watch_option()}),
           .examples = {"bartleby topics ls", "bartleby topics ls -o name"},
           .run = list_topics}};
}

}  // namespace bartleby::cli
