// `workers`: which there are and how they are; pausing one and letting it go on.
#include <ostream>

#include "cli/commands.h"
#include "cli/letter_text.h"
#include "cli/session.h"
#include "cli/text.h"
#include "codec/time_text.h"

namespace bartleby::cli {
namespace {

Colour colour_of(const std::string& state) {
  if (state == "running") return Colour::kGood;
  if (state == "paused" || state == "starting" || state == "stopping") return Colour::kWarning;
  return state == "unreachable" || state == "stopped" ? Colour::kBad : Colour::kNone;
}

std::string path_of(const std::string& worker) { return "/api/v1/workers/" + encoded(worker); }

std::string last_message(const JsonValue& worker, Timestamp now) {
  std::optional<Timestamp> last = time_from_text(worker.text("last_message_at"));  // heartbeats come later
  for (const JsonValue& instance : worker["instances"].items())
    if (const auto at = time_from_text(instance.text("last_message_at")); at && (!last || *at > *last)) last = at;
  return last ? ago_text(*last, now) : "-";
}

std::string trouble_of(const JsonValue& worker) {
  if (const std::string trouble = worker.text("trouble"); !trouble.empty()) return trouble;
  return worker.truth("guard_open") ? "outage guard open: one probe at a time" : "";
}

std::string workers_table(const Session& session, const JsonValue& document) {
  const auto& items = document["items"].items();
  if (items.empty()) return "no workers; the configuration of `bartleby serve` names them\n";
  Table table({{"WORKER", 32},
               {"STATE", 12},
               {"TOPICS", 32},
               {"RUNNING", 10, true},
               {"PARKED", 10, true},
               {"HELD", 10, true},
               {"LAG", 12, true},
               {"LAST MESSAGE", 14},
               {"TROUBLE", 60}});
  for (const JsonValue& worker : items) {
    const std::string state = worker.text("state");
    table.add({worker.text("name"),
               {state, colour_of(state)},
               names_text(worker["topics"]),
               grouped(worker.integer("running")),
               grouped(worker.integer("parked")),
               grouped(worker.integer("held")),
               grouped(worker.integer("lag")),
               last_message(worker, session.now()),
               {trouble_of(worker), Colour::kBad}});
  }
  return session.text_of(table) + counted(static_cast<std::int64_t>(items.size()), "worker") + "\n";
}

std::string worker_text(const Session& session, const JsonValue& worker) {
  const std::string state = worker.text("state");
  std::string out = shown(worker.text("name")) + "  " + painted(shown(state), colour_of(state), session.colours()) +
                    "  group " + shown(worker.text("group")) + "  topics " + shown(names_text(worker["topics"])) + "\n";
  out += "running " + grouped(worker.integer("running")) + "  parked " + grouped(worker.integer("parked")) + "  held " +
         grouped(worker.integer("held")) + "  lag " + grouped(worker.integer("lag")) + "  last message " +
         last_message(worker, session.now()) + "\n";
  if (const std::string trouble = trouble_of(worker); !trouble.empty())
    out += painted(shown(trouble), Colour::kBad, session.colours()) + "\n";
  for (const JsonValue& instance : worker["instances"].items())
    out += "instance " + shown(instance.text("id")) + "  " + shown(instance.text("status")) + "\n";
  if (worker["partitions"].items().empty()) return out + "no partitions here\n";
  Table table({{"TOPIC", 40},
               {"PARTITION", 10, true},
               {"STATE", 32},
               {"COMMITTED", 20, true},
               {"FRONTIER", 20, true},
               {"END", 20, true},
               {"PARKED", 10, true},
               {"HELD", 10, true}});
  for (const JsonValue& p : worker["partitions"].items())
    table.add({p.text("topic"), std::to_string(p.integer("partition")), p.text("state"),
               std::to_string(p.integer("committed")), std::to_string(p.integer("frontier")),
               std::to_string(p.integer("end")), grouped(p.integer("parked")), grouped(p.integer("held"))});
  return out + "\n" + session.text_of(table) +
         counted(static_cast<std::int64_t>(worker["partitions"].items().size()), "partition") + "\n";
}

Ran list_workers(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return session->repeat(arguments, [&]() -> Ran {
    const auto document = session->get("/api/v1/workers");
    if (!document) return std::unexpected(document.error());
    session->show_list(
        *document, [](const JsonValue& worker) { return worker.text("name"); },
        [&] { return workers_table(*session, *document); });
    return exit_status::kOk;
  });
}

Ran show_worker(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return session->repeat(arguments, [&]() -> Ran {
    const auto worker = session->get(path_of(arguments.operand(0)));
    if (!worker) return std::unexpected(worker.error());
    session->show_one(*worker, worker->text("name"), [&] { return worker_text(*session, *worker); });
    return exit_status::kOk;
  });
}

Ran change(const Arguments& arguments, const CliContext& context, const char* verb) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  const auto done = session->post(with_reason(path_of(arguments.operand(0)) + ":" + verb, arguments), "{}");
  if (!done) return std::unexpected(done.error());
  session->show_one(*done, done->text("name"),
                    [&] { return shown(done->text("name")) + " " + shown(done->text("state")) + "\n"; });
  return exit_status::kOk;
}

}  // namespace

std::vector<Command> workers_commands() {
  const std::vector<Option> watched = with_server_options({watch_option()});
  return {{.name = "workers ls",
           .summary = "list workers and how they are",
           .options = watched,
           .examples = {"bartleby workers ls", "bartleby workers ls -w"},
           .run = list_workers},
          {.name = "workers show",
           .summary = "one worker, its instances and partitions",
           .operands = {{"WORKER"}},
           .options = watched,
           .examples = {"bartleby workers show orders"},
           .run = show_worker},
          {.name = "workers pause",
           .summary = "start no new attempts; those that run go on",
           .operands = {{"WORKER"}},
           .options = with_server_options({reason_option()}),
           .examples = {"bartleby workers pause orders", "bartleby workers pause orders -r 'stripe is down'"},
           .run = [](const Arguments& a, const CliContext& c) { return change(a, c, "pause"); }},
          {.name = "workers resume",
           .summary = "let a paused worker go on",
           .operands = {{"WORKER"}},
           .options = with_server_options({reason_option()}),
           .examples = {"bartleby workers resume orders"},
           .run = [](const Arguments& a, const CliContext& c) { return change(a, c, "resume"); }}};
}

}  // namespace bartleby::cli
