// `api`: any route of the server, for scripts and for what has no command. The body goes to standard output as it came.
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <ostream>

#include "cli/commands.h"
#include "cli/line_input.h"
#include "cli/session.h"
#include "cli/text.h"

namespace bartleby::cli {
namespace {

constexpr std::size_t kMaxBody = std::size_t{64} << 20;

std::expected<std::string, Failure> body_of(const Arguments& arguments) {
  std::string given = arguments.value("--data").value_or("");
  if (!given.starts_with('@') && given != "-") return given;
  std::string body;
  if (given == "-" || given == "@-") {
    if (!read_whole(STDIN_FILENO, kMaxBody, body))
      return refuse(exit_status::kError, "standard input cannot be read, or has more than 64 MB");
    return body;
  }
  std::ifstream file(given.substr(1), std::ios::binary);
  if (!file) return refuse(exit_status::kError, "cannot read " + shown(given.substr(1)));
  body.assign(std::istreambuf_iterator<char>(file), {});
  return body;
}

Ran run_api(const Arguments& arguments, const CliContext& context) {
  const std::string& path = arguments.operand(1);
  if (!path.starts_with('/') || path.find_first_of(" \t\r\n") != std::string::npos)
    return refuse(exit_status::kUsage, "a path is like /api/v1/workers, not '" + shown(path) + "'");
  auto body = body_of(arguments);
  if (!body) return std::unexpected(body.error());
  auto session = Session::open(arguments, context);
  if (!session) return std::unexpected(session.error());
  ApiRequest request{.method = arguments.operand(0), .path = path, .body = std::move(*body)};
  for (const std::string& header : arguments.values("--header")) {
    if (!header.contains(':') || header.find_first_of("\r\n") != std::string::npos)
      return refuse(exit_status::kUsage, "a header is given as 'Name: value', not '" + shown(header) + "'");
    request.headers.push_back(header);
  }
  if (!request.body.empty() && request.headers.empty()) request.headers.emplace_back("Content-Type: application/json");
  const auto reply = session->client().call(request);
  if (!reply) return std::unexpected(reply.error());
  const auto document =
      session->form() == Form::kTable ? fail(ErrorCode::kUnsupported, "") : JsonValue::parse(reply->body);
  if (document)
    session->out() << (session->form() == Form::kJson ? document->pretty() : document->compact());
  else
    session->out() << reply->body;
  if (document || (!reply->body.empty() && !reply->body.ends_with('\n'))) session->out() << '\n';
  if (reply->status < 300) return exit_status::kOk;
  session->out().flush();
  return std::unexpected(failure_of(*reply, session->client().server()));
}

}  // namespace

std::vector<Command> api_commands() {
  return {
      {.name = "api",
       .summary = "call a route of the server",
       .operands = {{"METHOD", true, {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"}}, {"PATH"}},
       .options = with_server_options({{"--data", 'd', "BODY", "the body; @FILE from a file, - from standard input"},
                                       {"--header", 'H', "'NAME: VALUE'", "a header of the request", {}, true}}),
       .details = "The answer is printed as it came; -o json makes it readable, -o jsonl one line. All routes:\n"
                  "bartleby api GET /openapi.json -o json",
       .examples = {"bartleby api GET /api/v1/workers -o json",
                    "bartleby api POST /api/v1/workers/orders/parked:run-now -d '{\"all\": true}'"},
       .run = run_api}};
}

}  // namespace bartleby::cli
