// `keys`: API keys, made, listed and revoked.
#include "cli/commands.h"
#include "cli/letter_text.h"
#include "cli/session.h"
#include "cli/text.h"
#include "codec/json_text.h"

namespace bartleby::cli {
namespace {

Colour colour_of(const std::string& state) { return state == "good" ? Colour::kGood : Colour::kFaint; }

std::string keys_table(const Session& session, const JsonValue& document) {
  const auto& items = document["items"].items();
  if (items.empty()) return "no keys\n";
  Table table(
      {{"ID", 16}, {"NAME", 40}, {"STATE", 8}, {"MAY", 50}, {"MADE", 10}, {"BY", 30}, {"EXPIRES", 24}, {"USED", 10}});
  for (const JsonValue& key : items) {
    const std::string state = key.text("state"), used = key.text("last_used_at");
    table.add({key.text("id"),
               key.text("name"),
               {state, colour_of(state)},
               key.text("role", names_text(key["scopes"])),
               ago_text(key.text("created_at"), session.now()),
               key.text("created_by"),
               key.text("expires_at", "never"),
               used.empty() ? std::string("never") : ago_text(used, session.now())});
  }
  return session.text_of(table) + count_text(document, items.size(), "key") + "\n";
}

Ran list_keys(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return session->repeat(arguments, [&]() -> Ran {
    const auto document = session->get("/api/v1/keys");
    if (!document) return std::unexpected(document.error());
    session->show_list(
        *document, [](const JsonValue& key) { return key.text("id"); },
        [&] { return keys_table(*session, *document); });
    return exit_status::kOk;
  });
}

// The closing brace is written when the object ends.
void write_new(std::string& body, const Arguments& arguments) {
  JsonObject object(body);
  object.text("name", arguments.operand(0));
  if (const auto role = arguments.value("--role")) object.text("role", *role);
  if (const auto life = arguments.value("--expires-in")) object.text("expires_in", *life);
  if (const auto reason = arguments.value("--reason")) object.text("reason", *reason);
  const auto scopes = arguments.values("--scope");
  if (scopes.empty()) return;
  object.name("scopes");
  char before = '[';
  for (const std::string& scope : scopes) {
    body += before;
    append_json_text(body, scope);
    before = ',';
  }
  body += ']';
}

// The key alone on stdout: a script takes it from there.
Ran new_key(const Arguments& arguments, const CliContext& context) {
  if (arguments.has("--role") == arguments.has("--scope"))
    return refuse(exit_status::kUsage,
                  "say what the key may do: --role viewer, operator or admin, or --scope (one or more)");
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  std::string body;
  write_new(body, arguments);
  const auto key = session->post("/api/v1/keys", body);
  if (!key) return std::unexpected(key.error());
  // A server that asks for none would let everybody on its machine in, key or not.
  if (const auto said = session->get("/api/v1/session"); said && said->text("actor") == "local")
    session->err() << "note: this server asks for no keys yet; auth.keys: store makes it ask\n";
  session->show_one(*key, key->text("key"), [&] {
    session->err() << shown(key->text("id")) << " for " << shown(key->text("name")) << " may "
                   << shown(names_text((*key)["scopes"])) << "; it is shown this once\n";
    return key->text("key") + "\n";
  });
  return exit_status::kOk;
}

Ran revoke_keys(const Arguments& arguments, const CliContext& context) {
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto reply = session->client().call(
        {.method = "DELETE", .path = with_reason("/api/v1/keys/" + encoded(arguments.operand(i)), arguments)});
    if (!reply) return std::unexpected(reply.error());
    if (reply->status >= 300) return std::unexpected(failure_of(*reply, session->client().server()));
    session->err() << shown(arguments.operand(i)) << " revoked\n";
  }
  return exit_status::kOk;
}

}  // namespace

std::vector<Command> keys_commands() {
  return {
      {.name = "keys new",
       .summary = "make an API key; it is printed this once",
       .operands = {{"NAME"}},
       .options = with_server_options(
           {{"--role", 0, "ROLE", "viewer, operator or admin", {"viewer", "operator", "admin"}},
            {.name = "--scope",
             .letter = 's',
             .value = "SCOPE",
             .help = "instead: one scope, and another with another -s",
             .choices = {"read", "payload", "replay", "discard", "approve", "ingest", "work", "admin"},
             .repeats = true},
            {"--expires-in", 0, "SPAN", "such as 30d; else never"},
            reason_option()}),
       .details = "viewer reads, without what messages hold; operator reads, replays and discards; admin may do all. "
                  "The server keeps a hash of the key alone.",
       .examples = {"bartleby keys new ann --role operator", "bartleby keys new billing -s ingest --expires-in 90d"},
       .run = new_key},
      {.name = "keys ls",
       .summary = "list API keys: whose, what they may do, when they were last used",
       .options = with_server_options({watch_option()}),
       .examples = {"bartleby keys ls"},
       .run = list_keys},
      {.name = "keys revoke",
       .summary = "a key opens nothing any more, at once; its sessions end",
       .operands = {{.name = "KEY", .repeats = true}},
       .options = with_server_options({reason_option()}),
       .examples = {"bartleby keys revoke bk_k3v9x2m4qa -r 'was in a screenshot'"},
       .run = revoke_keys}};
}

}  // namespace bartleby::cli
