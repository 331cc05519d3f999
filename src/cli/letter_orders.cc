// `letters replay|discard|restore`: one letter at once, many by a plan; `letters export`; `dlqs purge`.
#include <fstream>
#include <ostream>
#include <sstream>

#include "cli/commands.h"
#include "cli/letter_text.h"
#include "cli/operation_text.h"
#include "cli/progress.h"
#include "cli/session.h"
#include "cli/text.h"
#include "codec/json_patch.h"
#include "codec/json_text.h"

namespace bartleby::cli {
namespace {

constexpr std::int64_t kTellEvery = 10;  // letters of an export

std::string path_of(const std::string& letter) { return "/api/v1/letters/" + encoded(letter); }

// The edit as JSON without blanks; empty where none is asked for.
std::expected<std::string, Failure> edit_of(const Arguments& arguments) {
  const auto path = arguments.value("--edit");
  if (!path) return "";
  std::ifstream file(*path, std::ios::binary);
  std::string text(kMaxPatch + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.eof() && !file) return refuse(exit_status::kUsage, "cannot read " + *path);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (const auto patch = JsonPatch::parse(text); !patch)
    return refuse(exit_status::kUsage, *path + ": " + patch.error().message);
  auto compact = json_member("{\"edit\":" + text + "}", "edit");
  if (!compact) return refuse(exit_status::kUsage, *path + ": " + compact.error().message);
  return std::move(*compact);
}

// What a replay is told beside its letters. The caller has opened the object.
std::expected<void, Failure> put_settings(JsonObject& object, std::string& body, const Arguments& arguments,
                                          const std::string& edit) {
  if (const auto text = arguments.value("--rate")) {
    const auto rate = rate_of(*text);
    if (!rate) return refuse(exit_status::kUsage, "--rate is letters per second, such as 50/s, not '" + *text + "'");
    object.number("rate", *rate);
  }
  if (arguments.has("--canary")) {
    const auto canary = arguments.number("--canary", 10, 0, 1000000);
    if (!canary) return std::unexpected(canary.error());
    object.number("canary", *canary);
  }
  if (const auto scope = arguments.value("--scope")) object.text("scope", *scope);
  if (const auto to = arguments.value("--to")) object.text("to", *to);
  if (!edit.empty()) {
    object.name("edit");
    body += edit;
  }
  if (const auto reason = arguments.value("--reason")) object.text("reason", *reason);
  return {};
}

std::string done_text(const JsonValue& answer, const std::string& kind) {
  const std::string id = shown(answer.text("id"));
  if (kind == "restore") return id + " " + shown(answer.text("state")) + "\n";
  if (kind == "discard")
    return id + " discarded; until " + shown(answer.text("undo_until")) + " this undoes it: bartleby letters restore " +
           id + "\n";
  const JsonValue& to = answer["to"];
  if (to.text("topic").empty())
    return "on its way: bartleby ops watch " + id + "\n";  // 202: the answer is the operation
  return id + " sent to " + shown(to.text("topic")) + " " + std::to_string(to.integer("partition")) + ":" +
         std::to_string(to.integer("offset")) + "  what became of it: bartleby letters show " + id + "\n";
}

std::expected<std::string, Failure> body_of_one(const Arguments& arguments, const std::string& kind) {
  const auto edit = edit_of(arguments);
  if (!edit) return std::unexpected(edit.error());
  std::string body;
  {
    JsonObject object(body);
    if (kind == "replay") {
      if (auto put = put_settings(object, body, arguments, *edit); !put) return std::unexpected(put.error());
    } else if (const auto reason = arguments.value("--reason")) {
      object.text("reason", *reason);
    }
  }
  return body;
}

std::expected<std::string, Failure> body_of_many(const Arguments& arguments, const std::string& kind,
                                                 const std::optional<std::string>& query) {
  const auto edit = edit_of(arguments);
  if (!edit) return std::unexpected(edit.error());
  std::string body;
  {
    JsonObject object(body);
    object.text("kind", kind);
    if (query) {
      object.text("q", *query);
    } else {
      object.name("ids");
      body += '[';
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (i > 0) body += ',';
        append_json_text(body, arguments.operand(i));
      }
      body += ']';
    }
    if (kind == "replay") {
      if (auto put = put_settings(object, body, arguments, *edit); !put) return std::unexpected(put.error());
    } else if (const auto reason = arguments.value("--reason")) {
      object.text("reason", *reason);
    }
  }
  return body;
}

Ran order(const Arguments& arguments, const CliContext& context, const std::string& kind) {
  const auto query = arguments.value("--query");
  if (query.has_value() == (arguments.size() > 0))
    return refuse(exit_status::kUsage, "say which letters: their ids, or -q with a query");
  // What an edit makes of them is seen before it is sent: a replay cannot be taken back.
  const bool previewed = arguments.has("--edit") && !arguments.has("--yes");
  const bool one = arguments.size() == 1 && !previewed;
  const auto body = one ? body_of_one(arguments, kind) : body_of_many(arguments, kind, query);
  if (!body) return std::unexpected(body.error());
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  // Who names letters knows which; who describes them sees first what the description means.
  if (!one) return plan_operation(*session, context, *body, (!query && !previewed) || arguments.has("--yes"));
  const auto answer = session->post(path_of(arguments.operand(0)) + ":" + kind, *body);
  if (!answer) return std::unexpected(answer.error());
  session->show_one(*answer, answer->text("id"), [&] { return done_text(*answer, kind); });
  return exit_status::kOk;
}

// ---- export ------------------------------------------------------------------------------------------

// False: it, or its value, has gone since it was listed.
std::expected<bool, Failure> export_one(Session& session, const std::string& id) {
  const auto letter = session.get(path_of(id));
  if (!letter && letter.error().status == exit_status::kNotFound) return false;
  if (!letter) return std::unexpected(letter.error());
  if (!shows_payload(*letter))
    return refuse(exit_status::kDenied, "an export has keys, headers and values: it needs the scope payload");
  std::string line = letter->compact();
  const bool here = !(*letter)["origin"]["headers"].is_null();  // else its bytes lie in an archive
  if (here) {
    line.pop_back();
    line += ",\"value\":";
    if ((*letter)["preview"].is_null()) {
      line += "null";
    } else {
      const auto value = session.client().call({.path = path_of(id) + "/value"});
      if (!value) return std::unexpected(value.error());
      if (exit_status_of(value->status) == exit_status::kNotFound) return false;
      if (value->status >= 300) return std::unexpected(failure_of(*value, session.client().server()));
      append_json_bytes(line, value->body);
    }
    line += '}';
  }
  session.out() << line << '\n';
  return true;
}

Ran export_letters(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  const std::string first = "/api/v1/letters?limit=500&q=" + encoded(arguments.value("--query").value_or(""));
  std::int64_t letters = 0, gone = 0;
  Progress progress(session->err());
  for (std::string path = first; !path.empty();) {
    const auto page = session->get(path);
    if (!page) return std::unexpected(page.error());
    for (const JsonValue& letter : (*page)["items"].items()) {
      const auto done = export_one(*session, letter.text("id"));
      if (!done) return std::unexpected(done.error());
      if (!*done) ++gone;
      // Not between the letters themselves.
      if (*done && ++letters % kTellEvery == 0 && !context.terminal.value_or(false))
        progress.tell(so_far_text(letters, *page, "letter"));
    }
    if (!session->out().good()) return exit_status::kPartly;
    const std::string next = page->text("next");
    path = next.empty() ? "" : first + "&cursor=" + encoded(next);
  }
  progress.tell("");
  session->err() << counted(letters, "letter") << '\n';
  if (gone == 0) return exit_status::kOk;
  session->err() << counted(gone, "letter") << " left out: purged or archived meanwhile\n";
  return exit_status::kPartly;
}

// ---- purge -------------------------------------------------------------------------------------------

Ran purge(const Arguments& arguments, const CliContext& context) {
  const auto age = arguments.value("--older-than");
  if (!age) return refuse(exit_status::kUsage, "say --older-than SPAN, such as 90d: a purge cannot be undone");
  if (!moment_from(*age, context.now()) || age->contains('-'))
    return refuse(exit_status::kUsage, "--older-than is a span such as 24h or 90d, not '" + *age + "'");
  const std::string query = "dlq:\"" + arguments.operand(0) + "\" before:" + *age;
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  // A name with a slip in it would purge nothing and say nothing.
  if (const auto dlq = session->get("/api/v1/dlqs/" + encoded(arguments.operand(0))); !dlq)
    return std::unexpected(dlq.error());
  std::string body;
  {
    JsonObject object(body);
    object.text("kind", "purge");
    object.text("q", query);
    if (const auto reason = arguments.value("--reason")) object.text("reason", *reason);
  }
  return plan_operation(*session, context, body, arguments.has("--yes"));
}

}  // namespace

std::vector<Command> letter_order_commands() {
  const Option query{"--query", 'q', "QUERY", "which; shows a plan, and does nothing without --yes"};
  const Option reason = reason_option();
  const Option yes{"--yes", 'y', "", "carry the plan out at once"};
  const std::vector<Operand> letters = {{"LETTER", false, {}, true}};
  const auto run = [](const char* kind) {
    return [kind](const Arguments& a, const CliContext& c) { return order(a, c, kind); };
  };
  return {
      {.name = "letters replay",
       .summary = "send letters again: those named at once, those of a query by a plan",
       .operands = letters,
       .options = with_server_options(
           {query,
            {"--rate", 0, "N/s", "so many per second; 0: as fast as it goes"},
            {"--canary", 0, "N", "so many go first, and their outcomes are awaited; 0: none"},
            {"--scope",
             0,
             "SCOPE",
             "to the letter's group alone, or to the topic, where all groups read it",
             {"group", "topic"}},
            {"--to", 0, "TOPIC", "another topic, of those that the configuration allows"},
            {"--edit", 0, "FILE", "JSON Patch (RFC 6902) of the values; the plan shows what it makes of the first"},
            reason,
            yes}),
       .details = "A replay halts by itself when too many letters come back. Exit status: 6 if some came back or were\n"
                  "left out, 7 if it halted.",
       .examples = {"bartleby letters replay ltr_ww3ri4lxtflhp7t23xm6atdjqx",
                    "bartleby letters replay -q issue:iss_9c2b41d07e55a3f1",
                    "bartleby letters replay -q 'dlq:orders.dlq since:24h' --rate 200/s -r 'bank is back' --yes",
                    "bartleby letters replay -q error:BadCurrency --edit patch.json"},
       .run = run("replay")},
      {.name = "letters discard",
       .summary = "letters that are not wanted any more; can be undone for 72 h",
       .operands = letters,
       .options = with_server_options({query, reason, yes}),
       .examples = {"bartleby letters discard ltr_ww3ri4lxtflhp7t23xm6atdjqx -r 'a test order'",
                    "bartleby letters discard -q 'worker:orders key:test' --yes"},
       .run = run("discard")},
      {.name = "letters restore",
       .summary = "discarded letters are open again",
       .operands = letters,
       .options = with_server_options({query, reason, yes}),
       .examples = {"bartleby letters restore ltr_ww3ri4lxtflhp7t23xm6atdjqx"},
       .run = run("restore")},
      {.name = "letters export",
       .summary = "write letters with their values to standard output, one JSON a line",
       .options = with_server_options({{"--query", 'q', "QUERY", "which; all where nothing is said"}}),
       .details = "How far it has come stands on standard error, where that is a terminal.",
       .examples = {"bartleby letters export -q 'dlq:orders.dlq state:open' > letters.jsonl"},
       .run = export_letters}};
}

std::vector<Command> purge_commands() {
  return {{.name = "dlqs purge",
           .summary = "delete old letters for good; shows a plan, and does nothing without --yes",
           .operands = {{"DLQ"}},
           .options = with_server_options({{"--older-than", 0, "SPAN", "dead for longer than this, such as 90d"},
                                           reason_option(),
                                           {"--yes", 'y', "", "carry the plan out at once"}}),
           .examples = {"bartleby dlqs purge orders.dlq --older-than 90d",
                        "bartleby dlqs purge orders.dlq --older-than 90d --yes"},
           .run = purge}};
}

}  // namespace bartleby::cli
