#include "cli/session.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <fstream>
#include <ostream>

#include "cli/interrupt.h"

namespace bartleby::cli {
namespace {

constexpr const char* kDefaultServer = "http://127.0.0.1:1853";
constexpr Duration kWatchEvery = std::chrono::seconds(2);

}  // namespace

std::vector<Option> server_options() {
  return {{"--server", 0, "URL", "the server; else BARTLEBY_URL, else http://127.0.0.1:1853"},
          {"--output", 'o', "FORM", "table, json, jsonl or name", {"table", "json", "jsonl", "name"}},
          {"--no-color", 0, "", "no colours; they are used only on a terminal, and not where NO_COLOR is set"}};
}

std::vector<Option> with_server_options(std::vector<Option> own) {
  for (Option& option : server_options()) own.push_back(std::move(option));
  return own;
}

Option reason_option() { return {"--reason", 'r', "TEXT", "why; stands in the audit"}; }

std::string with_reason(std::string path, const Arguments& arguments) {
  if (const auto reason = arguments.value("--reason")) path += "?reason=" + encoded(*reason);
  return path;
}

Option watch_option() { return {"--watch", 'w', "", "show it again every 2 s, until interrupted"}; }

std::string api_key(const CliContext& context) {
  if (const auto key = context.variable("BARTLEBY_KEY")) return *key;
  const auto home = context.variable("HOME");
  if (!home || home->empty()) return "";
  std::ifstream file(*home + "/.config/bartleby/key");
  std::string key;
  file >> key;
  return key;
}

std::expected<Session, Failure> Session::open(const Arguments& arguments, const CliContext& context) {
  const auto variable = context.variable("BARTLEBY_URL");
  const std::string fallback = variable && !variable->empty() ? *variable : kDefaultServer;
  auto client = ApiClient::open(arguments.value("--server").value_or(fallback), api_key(context));
  if (!client) return std::unexpected(client.error());
  Session session(std::move(*client), context);
  const std::string form = arguments.value("--output").value_or("table");
  session.form_ = form == "json"    ? Form::kJson
                  : form == "jsonl" ? Form::kJsonLines
                  : form == "name"  ? Form::kName
                                    : Form::kTable;
  const auto no_color = context.variable("NO_COLOR");
  session.colours_ =
      context.terminal.value_or(false) && !arguments.has("--no-color") && (!no_color || no_color->empty());
  return session;
}

std::expected<JsonValue, Failure> Session::read(const ApiRequest& request) {
  auto reply = client_.call(request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 300) return std::unexpected(failure_of(*reply, client_.server()));
  auto document = JsonValue::parse(reply->body);
  if (!document || !document->is_object())
    return refuse(exit_status::kError, client_.server() +
                                           " gave an answer that is not Bartleby's; is something else listening "
                                           "there?");
  return std::move(*document);
}

std::expected<JsonValue, Failure> Session::get(const std::string& path) { return read({.path = path}); }

std::expected<JsonValue, Failure> Session::post(const std::string& path, const std::string& json) {
  return read({.method = "POST", .path = path, .body = json, .headers = {"Content-Type: application/json"}});
}

std::expected<JsonValue, Failure> Session::patch(const std::string& path, const std::string& json) {
  return read({.method = "PATCH", .path = path, .body = json, .headers = {"Content-Type: application/json"}});
}

std::size_t Session::width() const {
  if (!context_->terminal.value_or(false)) return 0;
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void Session::show_list(const JsonValue& document, const std::function<std::string(const JsonValue&)>& name,
                        const std::function<std::string()>& table) const {
  switch (form_) {
    case Form::kTable:
      out() << table();
      break;
    case Form::kJson:
      out() << document.pretty() << '\n';
      break;
    case Form::kJsonLines:
      for (const JsonValue& item : document["items"].items()) out() << item.compact() << '\n';
      break;
    case Form::kName:
      for (const JsonValue& item : document["items"].items()) out() << name(item) << '\n';
      break;
  }
}

void Session::show_one(const JsonValue& document, const std::string& name,
                       const std::function<std::string()>& table) const {
  switch (form_) {
    case Form::kTable:
      out() << table();
      break;
    case Form::kJson:
      out() << document.pretty() << '\n';
      break;
    case Form::kJsonLines:
      out() << document.compact() << '\n';
      break;
    case Form::kName:
      out() << name << '\n';
      break;
  }
}

Ran Session::repeat(const Arguments& arguments, const std::function<Ran()>& show) const {
  if (!arguments.has("--watch")) return show();
  Interrupt interrupt;
  bool began = false;
  do {
    if (context_->terminal.value_or(false)) out() << "\x1b[H\x1b[2J";
    const Ran ran = show();
    out().flush();
    if (Interrupt::asked()) break;
    if (!ran && (!began || ran.error().status != exit_status::kUnreachable)) return ran;
    if (!ran) err() << "bartleby: " << ran.error().text << '\n';
    began = true;
  } while (out().good() && !interrupt.wait(kWatchEvery));
  return exit_status::kOk;
}

}  // namespace bartleby::cli
