// `send`: one message, or one per line of standard input.
//
// Lines go in batches. A batch whose answer is lost is not sent again, since it may be there: the command stops and
// says which lines are certain.
#include <unistd.h>

#include <chrono>
#include <ostream>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/line_input.h"
#include "cli/session.h"
#include "cli/text.h"
#include "codec/base64.h"
#include "codec/json_text.h"
#include "codec/utf8.h"

namespace bartleby::cli {
namespace {

constexpr std::size_t kMaxValue = std::size_t{8} << 20;
constexpr std::size_t kBatchLines = 1000;
constexpr std::size_t kBatchBytes = std::size_t{1} << 20;
constexpr Duration kPatience{200};  // a line that came is sent after this, whether or not more come

struct MessageHeader {
  std::string name, value;
};

std::expected<std::vector<MessageHeader>, Failure> headers_of(const Arguments& arguments) {
  std::vector<MessageHeader> headers;
  for (const std::string& text : arguments.values("--header")) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      return refuse(exit_status::kUsage, "a header is given as name=value, not '" + shown(text) + "'");
    if (!is_utf8(text)) return refuse(exit_status::kUsage, "the header '" + shown(text) + "' is not UTF-8");
    headers.push_back({text.substr(0, equals), text.substr(equals + 1)});
  }
  return headers;
}

std::string path_of(const std::string& topic) { return "/api/v1/topics/" + encoded(topic) + "/messages"; }

// base64url of [["name","base64"],…], as a request's header.
std::string headers_header(const std::vector<MessageHeader>& headers) {
  std::string list = "[";
  for (const MessageHeader& header : headers) {
    if (list.size() > 1) list += ',';
    list += '[';
    append_json_text(list, header.name);
    list += ",\"";
    append_base64(list, header.value, Base64::kPadded);
    list += "\"]";
  }
  list += ']';
  std::string text;
  append_base64(text, list, Base64::kBare);
  for (char& c : text) c = c == '+' ? '-' : c == '/' ? '_' : c;
  return "Bartleby-Headers: " + text;
}

void append_line(std::string& body, std::string_view value, const std::optional<std::string>& key,
                 const std::vector<MessageHeader>& headers) {
  {
    JsonObject object(body);
    if (key) {
      object.name("key");
      append_json_bytes(body, *key);
    }
    object.name("value");
    append_json_bytes(body, value);
    if (!headers.empty()) {
      object.name("headers");
      for (std::size_t i = 0; i < headers.size(); ++i) {
        body += i == 0 ? "[[" : ",[";
        append_json_text(body, headers[i].name);
        body += ',';
        append_json_text(body, headers[i].value);
        body += ']';
      }
      body += ']';
    }
  }
  body += '\n';
}

Ran send_one(Session& session, const Arguments& arguments, const std::vector<MessageHeader>& headers) {
  const std::string& topic = arguments.operand(0);
  ApiRequest request{.method = "POST", .path = path_of(topic)};
  const auto value = arguments.operand_if(1);
  if (!value && isatty(STDIN_FILENO) == 1)
    return refuse(exit_status::kUsage, "say what to send: bartleby send " + topic + " VALUE, or - for standard input");
  if (value && *value != "-")
    request.body = *value;
  else if (!read_whole(STDIN_FILENO, kMaxValue, request.body))
    return refuse(exit_status::kError, "standard input cannot be read, or has more than 8 MB");
  if (const auto key = arguments.value("--key")) request.headers.push_back("Bartleby-Key: " + encoded(*key));
  // curl drops a header with nothing behind the colon, and sends it empty with a semicolon.
  if (arguments.value("--key") == "") request.headers.back() = "Bartleby-Key;";
  if (!headers.empty()) request.headers.push_back(headers_header(headers));
  const auto reply = session.client().call(request);
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 300) return std::unexpected(failure_of(*reply, session.client().server()));
  const auto placed = JsonValue::parse(reply->body);
  if (!placed || !(*placed)["offset"].if_integer())
    return std::unexpected(failure_of({200, "", ""}, session.client().server()));
  const std::string place =
      std::to_string(placed->integer("partition")) + ":" + std::to_string(placed->integer("offset"));
  session.show_one(*placed, place, [&] { return topic + " " + place + "\n"; });
  return exit_status::kOk;
}

// Where lines stand, for a person who waits.
class Progress {
 public:
  explicit Progress(Session& session) : session_(session), began_(system_now().steady), said_(began_) {}

  void sent(std::size_t lines) {
    sent_ += lines;
    const Instant now = system_now().steady;
    if (now - said_ < std::chrono::seconds(1)) return;
    said_ = now;
    session_.err() << "sent " << grouped(static_cast<std::int64_t>(sent_)) << " messages\n";
  }
  std::size_t sent() const { return sent_; }
  std::string summary(const std::string& topic) const {
    const auto seconds = static_cast<double>((system_now().steady - began_).count()) / 1000;
    std::string text = "sent " + counted(static_cast<std::int64_t>(sent_), "message") + " to " + topic;
    if (seconds >= 1)
      text += " in " + span_text(system_now().steady - began_) + " (" +
              grouped(static_cast<std::int64_t>(static_cast<double>(sent_) / seconds)) + "/s)";
    return text + "\n";
  }

 private:
  Session& session_;
  const Instant began_;
  Instant said_;
  std::size_t sent_ = 0;
};

std::expected<void, Failure> post_batch(Session& session, const std::string& topic, const std::string& body,
                                        std::size_t lines) {
  const auto reply = session.client().call(
      {.method = "POST", .path = path_of(topic), .body = body, .headers = {"Content-Type: application/x-ndjson"}});
  if (!reply) return std::unexpected(reply.error());
  if (reply->status >= 300) return std::unexpected(failure_of(*reply, session.client().server()));
  const auto placed = JsonValue::parse(reply->body);
  if (!placed || (*placed)["messages"].items().size() != lines)
    return refuse(exit_status::kError, session.client().server() + " does not say where the messages are");
  if (session.form() == Form::kJson || session.form() == Form::kJsonLines)
    for (const JsonValue& message : (*placed)["messages"].items()) session.out() << message.compact() << '\n';
  if (session.form() == Form::kName)
    for (const JsonValue& message : (*placed)["messages"].items())
      session.out() << message.integer("partition") << ':' << message.integer("offset") << '\n';
  return {};
}

Ran send_lines(Session& session, const Arguments& arguments, const std::vector<MessageHeader>& headers) {
  if (arguments.size() > 1 && arguments.operand(1) != "-")
    return refuse(exit_status::kUsage, "with --lines the messages come from standard input, not from the command line");
  const std::string& topic = arguments.operand(0);
  const auto key = arguments.value("--key");
  const Interrupt interrupt;
  LineInput input(STDIN_FILENO);
  Progress progress(session);
  std::string body;
  std::string line;
  std::size_t waiting = 0;
  for (;;) {
    const auto got = input.next(line, waiting == 0 ? Duration(-1) : kPatience);
    if (got == LineInput::Got::kLine) {
      append_line(body, line, key, headers);
      ++waiting;
      if (waiting < kBatchLines && body.size() < kBatchBytes) continue;
    }
    if (Interrupt::asked()) break;  // what was gathered is not begun any more
    if (waiting > 0) {
      if (const auto done = post_batch(session, topic, body, waiting); !done) {
        const std::size_t sent = progress.sent();
        Failure failure = done.error();
        const std::string after = sent == 0 ? "" : sent == 1 ? " after it" : " after them";
        if (sent > 0 || !failure.nothing_done)
          failure.text +=
              "\n" + counted(static_cast<std::int64_t>(sent), "line") + " sent; of the " +
              grouped(static_cast<std::int64_t>(waiting)) + after +
              (failure.nothing_done ? " none is there" : " all or none are there: a lost answer does not tell");
        if (sent > 0) failure.status = exit_status::kPartly;
        return std::unexpected(failure);
      }
      progress.sent(waiting);
      waiting = 0;
      body.clear();
    }
    if (got == LineInput::Got::kEnd) break;
    if (got == LineInput::Got::kTooLong || got == LineInput::Got::kFailed)
      return refuse(progress.sent() > 0 ? exit_status::kPartly : exit_status::kError,
                    "line " + std::to_string(progress.sent() + 1) +
                        (got == LineInput::Got::kTooLong ? " is longer than 8 MB" : " cannot be read") + "; " +
                        counted(static_cast<std::int64_t>(progress.sent()), "line") + " before it sent");
  }
  (session.form() == Form::kTable ? session.out() : session.err()) << progress.summary(topic);
  return Interrupt::asked() ? exit_status::kPartly : exit_status::kOk;
}

Ran run_send(const Arguments& arguments, const CliContext& context) {
  const auto headers = headers_of(arguments);
  if (!headers) return std::unexpected(headers.error());
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  return arguments.has("--lines") ? send_lines(*session, arguments, *headers) : send_one(*session, arguments, *headers);
}

}  // namespace

std::vector<Command> send_commands() {
  return {{.name = "send",
           .summary = "send a message to a topic, or one per line of standard input",
           .operands = {{"TOPIC"}, {"VALUE", false}},
           .options = with_server_options({{"--key", 'k', "KEY", "messages of one key are handled in order"},
                                           {"--header", 'H', "NAME=VALUE", "a header of the message", {}, true},
                                           {"--lines", 0, "", "every line of standard input is a message"}}),
           .details =
               "Prints where the message is: topic, partition and offset. VALUE - is standard input, whole. A topic\n"
               "that does not exist is made, where the broker is the embedded one.",
           .examples = {"bartleby send orders '{\"id\": 1}'", "bartleby send orders -k customer-7 -H trace=abc hello",
                        "bartleby send orders --lines < orders.jsonl"},
           .run = run_send}};
}

}  // namespace bartleby::cli
