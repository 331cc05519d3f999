// `letters`: finding dead messages, one with its story, its value byte for byte.
#include <ostream>

#include "cli/commands.h"
#include "cli/letter_text.h"
#include "cli/session.h"
#include "cli/text.h"
#include "codec/utf8.h"

namespace bartleby::cli {
namespace {

constexpr const char* kLetters = "/api/v1/letters";

Colour colour_of(const std::string& state) {
  if (state == "open") return Colour::kBad;
  if (state == "replaying") return Colour::kWarning;
  return state == "resolved" ? Colour::kGood : Colour::kFaint;
}

std::string place_text(const JsonValue& place) {
  if (!place["offset"].if_integer()) return "";
  return std::to_string(place.integer("partition")) + ":" + std::to_string(place.integer("offset"));
}

// ---- ls ----------------------------------------------------------------------------------------------

std::string letters_table(const Session& session, const JsonValue& document, bool asked) {
  const auto& items = document["items"].items();
  if (items.empty())
    return asked ? "no letter is like this\n" : "no letters: nothing has died, or nothing was taken in yet\n";
  Table table({{"ID", 32},
               {"STATE", 10},
               {"WORKER", 24},
               {"KEY", 24},
               {"ERROR", 44},
               {"ATTEMPTS", 8, true},
               {"REPLAYS", 8, true},
               {"DIED", 10}});
  for (const JsonValue& letter : items) {
    const std::string state = letter.text("state");
    const std::string worker = letter.text("worker");
    table.add({letter.text("id"),
               {state, colour_of(state)},
               worker.empty() ? "-" : worker,
               letter["origin"]["key"].if_bytes().value_or("-"),
               error_text(letter["error"]),
               std::to_string(letter.integer("attempts")),
               std::to_string(letter.integer("replays")),
               ago_text(letter.text("last_failure_at"), session.now())});
  }
  return session.text_of(table) + count_text(document, items.size(), "letter") + "\n";
}

// A query that makes no sense is shown with the place where it stops to.
std::expected<JsonValue, Failure> find(Session& session, const std::string& path, const std::string& query) {
  auto reply = session.client().call({.path = path});
  if (!reply) return std::unexpected(reply.error());
  auto document = JsonValue::parse(reply->body);
  if (reply->status < 300 && document && document->is_object()) return std::move(*document);
  Failure failure = failure_of(*reply, session.client().server());
  const auto position = document ? (*document)["position"].if_integer() : std::nullopt;
  if (position && *position >= 0) {
    const std::string before = clean_utf8(query, {.characters = static_cast<std::size_t>(*position)});
    failure.text += "\n  " + shown(query) + "\n  " + std::string(width_of(shown(before)), ' ') + "^";
  }
  return std::unexpected(std::move(failure));
}

Ran list_letters(const Arguments& arguments, const CliContext& context) {
  const auto limit = arguments.number("--limit", 50, 1, 500);
  if (!limit) return std::unexpected(limit.error());
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  const std::string query = arguments.value("--query").value_or("");
  const std::string path = kLetters + ("?limit=" + std::to_string(*limit)) + "&q=" + encoded(query);
  return session->repeat(arguments, [&]() -> Ran {
    const auto document = find(*session, path, query);
    if (!document) return std::unexpected(document.error());
    session->show_list(
        *document, [](const JsonValue& letter) { return letter.text("id"); },
        [&] { return letters_table(*session, *document, !query.empty()); });
    return exit_status::kOk;
  });
}

// ---- show --------------------------------------------------------------------------------------------

std::string died_text(const JsonValue& letter, const Session& session) {
  std::string out =
      painted("died " + shown(letter.text("reason")) + " after " + counted(letter.integer("attempts"), "attempt"),
              Colour::kBad, session.colours());
  out += "  error " + shown(letter["error"].text("kind")) + "  " + cut(shown(error_text(letter["error"])), 400) + "\n";
  const std::string first = letter.text("first_failure_at");
  out += first.empty() ? "failed " : "failed first " + shown(first) + ", ";
  return out + "last " + shown(letter.text("last_failure_at")) + " (" +
         ago_text(letter.text("last_failure_at"), session.now()) + ")\n";
}

std::string origin_text(const JsonValue& letter) {
  const JsonValue& origin = letter["origin"];
  std::string out = "came from ";
  if (origin.text("topic").empty())
    out += "nobody can tell where";
  else
    out += shown(origin.text("topic")) + " " + place_text(origin);
  if (!origin.text("timestamp").empty()) out += " of " + shown(origin.text("timestamp"));
  out += ", lies in " + shown(letter["dlq"].text("topic")) + " " + place_text(letter["dlq"]);
  if (!letter.text("dialect").empty()) out += ", dialect " + shown(letter.text("dialect"));
  if (!letter.text("worker").empty()) out += "\nworker " + shown(letter.text("worker"));
  if (!letter.text("group").empty() && letter.text("group") != letter.text("worker"))
    out += "  group " + shown(letter.text("group"));
  if (!letter.text("instance").empty()) out += "  instance " + shown(letter.text("instance"));
  return out + "\nissue " + shown(letter.text("issue")) + "\n";
}

std::string bytes_text(const JsonValue& letter) {
  std::string out;
  if (const auto key = letter["origin"]["key"].if_bytes()) out += "key      " + cut(shown(*key), 400) + "\n";
  for (const JsonValue& header : letter["origin"]["headers"].items()) {
    if (header.items().size() != 2) continue;
    const auto value = header.items()[1].if_bytes();
    out += "header   " + shown(header.items()[0].if_bytes().value_or("")) + "=" +
           (value ? cut(shown(*value), 200) : "(null)") + "\n";
  }
  if (!shows_payload(letter)) return out + "value    needs the scope payload, as key and headers do\n";
  const auto preview = letter["preview"].if_bytes();
  if (letter["origin"]["headers"].is_null()) return out + "value    in an archive\n";
  if (!preview) return out + "value    (null)\n";
  out += "value    " + (preview->empty() ? "(empty)" : shown(*preview)) + "\n";
  return out;
}

std::string story_text(const JsonValue& story) {
  std::string out;
  if (story["lives"].items().size() > 1)
    for (const JsonValue& life : story["lives"].items())
      out += "life " + std::to_string(life.integer("replays") + 1) + "   died " + shown(life.text("died_at")) +
             " after " + counted(life.integer("attempts"), "attempt") + "  " +
             cut(shown(error_text(life["error"])), 200) + "\n";
  if (const std::size_t others = story["other_groups"].items().size(); others > 0)
    out += "also dead in " + counted(static_cast<std::int64_t>(others), "other group") + "\n";
  if (const std::size_t same = story["same_key"].items().size(); same > 0)
    out += counted(static_cast<std::int64_t>(same), "other letter") + " of its key\n";
  for (const JsonValue& line : story["audit"].items())
    out += "audit    " + shown(line.text("at")) + "  " + shown(line.text("actor")) + "  " + shown(line.text("action")) +
           "  " + shown(line.text("from")) + " → " + shown(line.text("to")) +
           (line.text("reason").empty() ? "" : "  " + cut(shown(line.text("reason")), 200)) + "\n";
  return out;
}

Ran show_letter(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  const std::string path = kLetters + ("/" + encoded(arguments.operand(0)));
  const auto letter = session->get(path);
  if (!letter) return std::unexpected(letter.error());
  const auto story = session->get(path + "/story");
  if (!story) return std::unexpected(story.error());
  session->show_one(*letter, letter->text("id"), [&] {
    const std::string state = letter->text("state");
    return shown(letter->text("id")) + "  " + painted(shown(state), colour_of(state), session->colours()) + "\n" +
           died_text(*letter, *session) + origin_text(*letter) + bytes_text(*letter) + story_text(*story);
  });
  return exit_status::kOk;
}

// ---- value -------------------------------------------------------------------------------------------

Ran write_value(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  const auto reply = session->client().call({.path = kLetters + ("/" + encoded(arguments.operand(0))) + "/value"});
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 300) return std::unexpected(failure_of(*reply, session->client().server()));
  session->out().write(reply->body.data(), static_cast<std::streamsize>(reply->body.size()));
  return exit_status::kOk;
}

}  // namespace

std::vector<Command> letters_commands() {
  return {{.name = "letters ls",
           .summary = "list dead letters, the latest first",
           .options = with_server_options({{"--query", 'q', "QUERY", "which; all where nothing is said"},
                                           {"--limit", 'n', "N", "show at most so many: 1 to 500, else 50"},
                                           watch_option()}),
           .details = "A query is a list of dlq: worker: group: topic: key: error: reason: issue: state: header.x:\n"
                      "since: before: replays: text: and words, all of which must hold; -state:open means not open.",
           .examples = {"bartleby letters ls -q 'dlq:orders.dlq since:24h'",
                        "bartleby letters ls -q 'state:open -error:Timeout \"connection reset\"' -o name"},
           .run = list_letters},
          {.name = "letters show",
           .summary = "one letter: why it died, what it is, what was done to it",
           .operands = {{"LETTER"}},
           .options = server_options(),
           .examples = {"bartleby letters show ltr_ww3ri4lxtflhp7t23xm6atdjqx"},
           .run = show_letter},
          {.name = "letters value",
           .summary = "write its value to standard output, byte for byte",
           .operands = {{"LETTER"}},
           .options = server_options(),
           .examples = {"bartleby letters value ltr_ww3ri4lxtflhp7t23xm6atdjqx > order.json"},
           .run = write_value}};
}

}  // namespace bartleby::cli
