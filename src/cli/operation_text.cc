#include "cli/operation_text.h"

#include <ostream>

#include "cli/interrupt.h"
#include "cli/letter_text.h"
#include "cli/text.h"

namespace bartleby::cli {
namespace {

constexpr Duration kLookEvery{500};
constexpr std::size_t kBar = 30;

std::string path_of(const std::string& id) { return "/api/v1/operations/" + encoded(id); }

bool ended(const std::string& state) { return state == "done" || state == "cancelled" || state == "failed"; }

std::string target_text(const JsonValue& operation) {
  std::string text;
  for (const JsonValue& to : operation["to"].items())
    text += (text.empty() ? " → " : ", ") + shown(to.text("topic")) +
            (operation["to"].items().size() > 1 ? " (" + grouped(to.integer("letters")) + ")" : "");
  return text;
}

std::string replay_text(const JsonValue& operation) {
  const std::int64_t rate = operation.integer("rate");
  std::string text = target_text(operation) + ", " + (rate == 0 ? "as fast as it goes" : grouped(rate) + "/s");
  if (operation.integer("canary") > 0) text += ", canary " + grouped(operation.integer("canary"));
  text += ", stop at " + std::to_string(operation["halt"].integer("came_back")) + " % coming back";
  if (operation.integer("seconds") > 1) text += ", about " + span_text(Duration(operation.integer("seconds") * 1000));
  return text;
}

std::string results_text(const JsonValue& operation, std::string_view between) {
  const JsonValue& results = operation["results"];
  const bool replay = operation.text("kind") == "replay";
  std::string text = (replay ? "succeeded " : "done ") + grouped(results.integer("succeeded"));
  const std::int64_t waiting = results.integer("sent") + results.integer("unknown");
  if (replay) text += std::string(between) + "waiting " + grouped(waiting);
  if (replay) text += std::string(between) + "came back " + grouped(results.integer("came_back"));
  if (results.integer("skipped") > 0) text += std::string(between) + "left out " + grouped(results.integer("skipped"));
  return text;
}

}  // namespace

std::string plan_text(const JsonValue& operation) {
  const std::string kind = operation.text("kind");
  std::string text = counted(operation.integer("letters"), "letter");
  if (kind == "replay")
    text += replay_text(operation);
  else
    text += " to " + shown(kind) + " of " + shown(names_text(operation["dlqs"]));
  text += "\n";
  for (const JsonValue& one : operation["excluded"].items())
    text += "left out: " + grouped(one.integer("count")) + ", " + shown(one.text("why")) + "\n";
  if (!operation["also_read_by"].items().empty())
    text += "also read by: " + shown(names_text(operation["also_read_by"])) + "\n";
  if (!operation["spared"].items().empty())
    text += "the topic is also read by " + shown(names_text(operation["spared"])) + ": they do not see it\n";
  if (const std::int64_t overtaken = operation.integer("order_conflicts"); overtaken > 0)
    text += counted(overtaken, "letter") + " of keys whose newer messages were handled already\n";
  for (const JsonValue& warning : operation["warnings"].items())
    if (const std::string* words = warning.if_text()) text += "note: " + shown(*words) + "\n";
  for (const JsonValue& preview : operation["previews"].items())
    text += "edit of " + shown(preview.text("letter")) + "\n  before  " + cut(shown(preview.text("before")), 400) +
            "\n  after   " + cut(shown(preview.text("after")), 400) + "\n";
  return text;
}

std::string progress_line(const JsonValue& operation) {
  const std::int64_t letters = operation.integer("letters");
  const std::int64_t dealt = operation.integer("dealt_with");
  std::string text = shown(operation.text("kind")) + " " + shown(operation.text("id")) + " " +
                     shown(operation.text("state")) + ": " + grouped(dealt) + " of " + grouped(letters);
  if (letters > 0) text += " (" + std::to_string(dealt * 100 / letters) + " %)";
  text += ", " + results_text(operation, ", ");
  if (!operation.text("note").empty()) text += "; " + cut(shown(operation.text("note")), 300);
  return text;
}

std::string bar_text(const JsonValue& operation, std::size_t width) {
  const std::int64_t letters = operation.integer("letters");
  const std::int64_t dealt = operation.integer("dealt_with");
  const std::int64_t full = letters > 0 ? dealt * static_cast<std::int64_t>(kBar) / letters : 0;
  std::string text;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(kBar); ++i) text += i < full ? "█" : "░";
  text += " " + grouped(dealt) + "/" + grouped(letters) + "  " + results_text(operation, " · ") + "  " +
          shown(operation.text("state"));
  return width > 1 ? cut(text, width - 1) : text;
}

int exit_status_of_operation(const JsonValue& operation) {
  const std::string state = operation.text("state");
  if (state == "halted") return exit_status::kHalted;
  if (state == "failed") return exit_status::kError;
  const JsonValue& results = operation["results"];
  const bool whole =
      results.integer("came_back") == 0 && results.integer("skipped") == 0 && operation["excluded"].items().empty();
  return state == "cancelled" || (state == "done" && !whole) ? exit_status::kPartly : exit_status::kOk;
}

Ran follow_operation(Session& session, const CliContext& context, const std::string& id) {
  const bool terminal = context.terminal.value_or(false) && session.form() == Form::kTable;
  Interrupt interrupt;
  std::string told;
  for (;;) {
    const auto operation = session.get(path_of(id));
    if (!operation) return std::unexpected(operation.error());
    const std::string state = operation->text("state");
    const bool over = ended(state) || state == "halted";
    if (terminal && !over)
      session.out() << "\r\x1b[K" << bar_text(*operation, session.width()) << std::flush;
    else if (session.form() == Form::kTable)
      if (const std::string line = progress_line(*operation); line != told || over) {
        session.out() << (terminal ? "\r\x1b[K" : "") << line << '\n' << std::flush;
        told = line;
      }
    if (over) {
      if (session.form() != Form::kTable) session.show_one(*operation, operation->text("id"), [] { return ""; });
      if (state == "halted")
        session.err() << "it sends nothing more. To look: bartleby letters ls -q state:open. To go on all the same: "
                         "bartleby ops resume "
                      << shown(id) << '\n';
      return exit_status_of_operation(*operation);
    }
    if (interrupt.wait(kLookEvery)) {
      session.err() << (terminal ? "\n" : "") << "it goes on without being watched: bartleby ops watch " << shown(id)
                    << '\n';
      return exit_status::kOk;
    }
  }
}

namespace {

// An empty plan is not left lying about. Who wanted it carried out hears that none of the letters was dealt with.
Ran nothing_to_do(Session& session, const std::string& id, bool wanted) {
  const auto plan = session.post(path_of(id) + ":cancel", "{}");
  if (!plan) return std::unexpected(plan.error());
  session.show_one(*plan, id, [&] { return plan_text(*plan) + "Nothing to do.\n"; });
  const auto& excluded = (*plan)["excluded"].items();
  if (!wanted || excluded.empty()) return exit_status::kOk;
  const bool unknown = excluded.size() == 1 && excluded.front().text("why") == "there is no such letter";
  return unknown ? exit_status::kNotFound : exit_status::kPartly;
}

}  // namespace

Ran plan_operation(Session& session, const CliContext& context, const std::string& body, bool yes) {
  const auto planned = session.post("/api/v1/operations", body);
  if (!planned) return std::unexpected(planned.error());
  const std::string id = planned->text("id");
  if (planned->integer("letters") == 0) return nothing_to_do(session, id, yes);
  if (yes) {
    if (session.form() == Form::kTable) session.out() << plan_text(*planned) << std::flush;
    const auto started = session.post(path_of(id) + ":start", "{}");
    if (!started) return std::unexpected(started.error());
    return follow_operation(session, context, id);
  }
  session.show_one(*planned, id, [&] {
    const char* const undone = planned->text("kind") == "replay" ? "Nothing sent." : "Nothing changed.";
    return plan_text(*planned) + undone + " To do it: bartleby ops start " + shown(id) + "\n";
  });
  return exit_status::kOk;
}

}  // namespace bartleby::cli
