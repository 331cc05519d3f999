// `issues`: letters that died of the same thing; what they share; muting, resolving, reopening.
#include "cli/commands.h"
#include "cli/letter_text.h"
#include "cli/session.h"
#include "cli/text.h"
#include "codec/json_text.h"
#include "codec/time_text.h"

namespace bartleby::cli {
namespace {

std::string path_of(const std::string& issue) { return "/api/v1/issues/" + encoded(issue); }

Colour colour_of(const std::string& state) {
  if (state == "new" || state == "regressed") return Colour::kBad;
  if (state == "active") return Colour::kWarning;
  return state == "resolved" ? Colour::kGood : Colour::kFaint;
}

std::string issues_table(const Session& session, const JsonValue& document) {
  const auto& items = document["items"].items();
  if (items.empty()) return "no issues\n";
  Table table({{"ID", 24},
               {"STATE", 10},
               {"TITLE", 60},
               {"WORKERS", 24},
               {"OPEN", 10, true},
               {"TOTAL", 10, true},
               {"LAST", 10},
               {"24 H", 24}});
  for (const JsonValue& issue : items) {
    const std::string state = issue.text("state");
    table.add({issue.text("id"),
               {state, colour_of(state)},
               issue.text("title"),
               names_text(issue["workers"]),
               grouped(issue["count"].integer("open")),
               grouped(issue["count"].integer("total")),
               ago_text(issue.text("last"), session.now()),
               sparkline(issue["trend"])});
  }
  return session.text_of(table) + count_text(document, items.size(), "issue") + "\n";
}

std::string issue_text(const Session& session, const JsonValue& issue) {
  const std::string state = issue.text("state");
  std::string out = shown(issue.text("id")) + "  " + painted(shown(state), colour_of(state), session.colours());
  if (!issue.text("until").empty()) out += " until " + shown(issue.text("until"));
  out += "  " + grouped(issue["count"].integer("open")) + " open of " + grouped(issue["count"].integer("total")) +
         "  first " + ago_text(issue.text("first"), session.now()) + "  last " +
         ago_text(issue.text("last"), session.now()) + "\n" + shown(issue.text("title")) + "\nkind " +
         shown(issue.text("kind")) + "  workers " + shown(names_text(issue["workers"])) + "  dlqs " +
         shown(names_text(issue["dlqs"])) + "\nlast 24 h |" + sparkline(issue["trend"]) + "|\n";
  const JsonValue& shared = issue["shared"];
  if (!shared["facts"].items().empty()) {
    out += "what they share\n";
    for (const JsonValue& fact : shared["facts"].items())
      out += "  " + shown(fact.text("name")) + " " + shown(fact.text("value")) + "  " +
             grouped(fact.integer("letters")) + " of " + grouped(shared.integer("letters")) + "\n";
  }
  return out + "its letters: bartleby letters ls -q issue:" + shown(issue.text("id")) + "\n";
}

Ran list_issues(const Arguments& arguments, const CliContext& context) {
  const auto limit = arguments.number("--limit", 50, 1, 500);
  if (!limit) return std::unexpected(limit.error());
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  std::string path = "/api/v1/issues?limit=" + std::to_string(*limit);
  if (const auto state = arguments.value("--state")) path += "&state=" + encoded(*state);
  return session->repeat(arguments, [&]() -> Ran {
    const auto document = session->get(path);
    if (!document) return std::unexpected(document.error());
    session->show_list(
        *document, [](const JsonValue& issue) { return issue.text("id"); },
        [&] { return issues_table(*session, *document); });
    return exit_status::kOk;
  });
}

Ran show_issue(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return session->repeat(arguments, [&]() -> Ran {
    const auto issue = session->get(path_of(arguments.operand(0)));
    if (!issue) return std::unexpected(issue.error());
    session->show_one(*issue, issue->text("id"), [&] { return issue_text(*session, *issue); });
    return exit_status::kOk;
  });
}

// The closing brace is written when the object ends.
void write_change(std::string& body, const Arguments& arguments, const std::optional<Timestamp>& until) {
  JsonObject object(body);
  if (const auto reason = arguments.value("--reason")) object.text("reason", *reason);
  if (until) object.text("until", time_text(*until));
}

Ran change(const Arguments& arguments, const CliContext& context, const char* verb, std::optional<Timestamp> until) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  std::string body;
  write_change(body, arguments, until);
  const auto issue = session->post(path_of(arguments.operand(0)) + ":" + verb, body);
  if (!issue) return std::unexpected(issue.error());
  session->show_one(*issue, issue->text("id"), [&] {
    std::string line = shown(issue->text("id")) + " " + shown(issue->text("state"));
    if (!issue->text("until").empty()) line += " until " + shown(issue->text("until"));
    return line + "\n";
  });
  return exit_status::kOk;
}

Ran mute(const Arguments& arguments, const CliContext& context) {
  const auto span = arguments.value("--for");
  std::optional<Timestamp> until;
  if (span) {
    const auto ago = moment_from(*span, context.now());
    if (!ago || span->contains('-'))
      return refuse(exit_status::kUsage, "--for is a span such as 2h or 7d, not '" + *span + "'");
    until = context.now() + (context.now() - *ago);
  }
  return change(arguments, context, "mute", until);
}

}  // namespace

std::vector<Command> issues_commands() {
  const Option reason = reason_option();
  return {{.name = "issues ls",
           .summary = "list what letters die of, the latest first",
           .options = with_server_options({{"--state", 's', "STATES", "some of new,active,regressed,muted,resolved"},
                                           {"--limit", 'n', "N", "show at most so many: 1 to 500, else 50"},
                                           watch_option()}),
           .examples = {"bartleby issues ls", "bartleby issues ls -s new,regressed"},
           .run = list_issues},
          {.name = "issues show",
           .summary = "one issue: how many letters, since when, what they share",
           .operands = {{"ISSUE"}},
           .options = with_server_options({watch_option()}),
           .examples = {"bartleby issues show iss_9c2b41d07e55a3f1"},
           .run = show_issue},
          {.name = "issues mute",
           .summary = "say nothing more of it, for a while or until it is reopened",
           .operands = {{"ISSUE"}},
           .options = with_server_options({{"--for", 0, "SPAN", "such as 2h, 7d; else for ever"}, reason}),
           .examples = {"bartleby issues mute iss_9c2b41d07e55a3f1 --for 2d -r 'the vendor knows'"},
           .run = mute},
          {.name = "issues resolve",
           .summary = "it is over; another letter makes it regressed",
           .operands = {{"ISSUE"}},
           .options = with_server_options({reason}),
           .examples = {"bartleby issues resolve iss_9c2b41d07e55a3f1 -r 'fixed in 4.2'"},
           .run = [](const Arguments& a, const CliContext& c) { return change(a, c, "resolve", {}); }},
          {.name = "issues reopen",
           .summary = "it is neither muted nor over",
           .operands = {{"ISSUE"}},
           .options = with_server_options({reason}),
           .examples = {"bartleby issues reopen iss_9c2b41d07e55a3f1"},
           .run = [](const Arguments& a, const CliContext& c) { return change(a, c, "reopen", {}); }}};
}

}  // namespace bartleby::cli
