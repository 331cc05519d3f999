#include "adapters/handler/http/http_handler.h"

#include <algorithm>

#include "adapters/handler/http/push_answer.h"

namespace bartleby {
namespace {

constexpr Duration kNoRoomPause = std::chrono::seconds(1);

Decision failed(Kind kind, std::string type, std::string message) {
  Decision d;
  d.fate = Fate::kRetry;
  d.kind = kind;
  d.error = {std::move(type), std::move(message), {}};
  return d;
}

}  // namespace

struct HttpHandler::Shared {
  std::vector<int> reject;
  std::optional<WebhookSigner> signer;
  PushStyle style;
  TellTime clock;
  std::shared_ptr<HttpTarget> target;
  std::shared_ptr<PendingAttempts> pending;
};

Result<std::unique_ptr<HttpHandler>> HttpHandler::make(HttpHandlerOptions options, std::shared_ptr<HttpLoop> loop,
                                                       std::shared_ptr<PendingAttempts> pending) {
  auto shared = std::make_shared<Shared>();
  if (!options.secret.empty()) {
    Result<WebhookSigner> signer = WebhookSigner::make(options.secret);
    if (!signer) return std::unexpected(signer.error());
    shared->signer = std::move(*signer);
    shared->style.signer = &*shared->signer;
  }
  for (const auto& [name, value] : options.headers)
    if (!is_header_name(name) || !is_header_value(value))
      return fail(ErrorCode::kInvalid, "cannot be an HTTP header: " + name);
  for (const int status : options.reject)
    if (status < 300 || status > 599)
      return fail(ErrorCode::kInvalid, "reject: " + std::to_string(status) + " is no status of a refusal (300 to 599)");
  for (std::string& name : options.copy) {
    if (!is_header_name(name)) return fail(ErrorCode::kInvalid, "cannot be the name of an HTTP header: " + name);
    std::ranges::transform(name, name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  }
  Result<std::shared_ptr<HttpTarget>> target = loop->target(std::move(options.target));
  if (!target) return std::unexpected(target.error());
  shared->reject = std::move(options.reject);
  shared->style.headers = std::move(options.headers);
  shared->style.copy = std::move(options.copy);
  shared->clock = loop->clock();
  shared->target = std::move(*target);
  shared->pending = std::move(pending);
  return std::unique_ptr<HttpHandler>(new HttpHandler(std::move(loop), std::move(shared)));
}

void HttpHandler::start(std::shared_ptr<AttemptIn> attempt, Answer answer) {
  Result<std::string> headers = push_headers(*attempt, shared_->style, shared_->clock().wall);
  if (!headers) {
    Decision d = failed(Kind::kPermanent, "HeadersTooLarge", headers.error().message);  // so it is for ever
    d.fate = Fate::kReject;
    d.reason = Reason::kRejected;
    answer(std::move(d));
    return;
  }
  if (shared_->pending && !shared_->pending->announce(attempt)) {
    Decision d = failed(Kind::kThrottled, "Overloaded", "too many attempts are open in this process");
    d.after = kNoRoomPause;
    answer(std::move(d));
    return;
  }
  HttpRequest request;
  request.headers = std::move(*headers);
  request.body = attempt->record->value ? std::string_view(*attempt->record->value) : std::string_view();
  request.owner = attempt->record;
  request.deadline = attempt->deadline;
  request.unwanted = [attempt] { return attempt->cancelled.load(std::memory_order_relaxed); };
  HttpDone done = [shared = shared_, attempt, answer = std::move(answer)](const HttpReply& reply) mutable {
    replied(*shared, attempt, reply, std::move(answer));
  };
  loop_->post(shared_->target, std::move(request), std::move(done));
}

void HttpHandler::replied(const Shared& shared, const std::shared_ptr<AttemptIn>& attempt, const HttpReply& reply,
                          Answer answer) {
  PushVerdict verdict = push_verdict(reply, shared.reject, shared.clock().wall);
  if (verdict.pending && shared.pending) {
    shared.pending->keep(attempt, std::move(answer));
    return;
  }
  if (verdict.pending)
    verdict.decision = failed(Kind::kConfig, "BadOutcome", "this worker does not take Bartleby-Outcome: pending");
  if (shared.pending)
    if (std::optional<Decision> finished = shared.pending->withdraw(attempt->token))
      verdict.decision = std::move(*finished);
  answer(std::move(verdict.decision));
}

}  // namespace bartleby
