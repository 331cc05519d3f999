// A handler behind HTTP: each attempt is one POST, the answer is the outcome (the push protocol).
//
// Any thread may call `start`; answers come on the thread of the loop, which several handlers share. Keeps the
// deadline: then the connection is closed and the attempt ends with kind `timeout`. An endpoint may answer 202 with
// `Bartleby-Outcome: pending`; the attempt then goes to `PendingAttempts`. Fails at `make` for settings that cannot
// work; later only by the outcomes of push_answer.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "adapters/handler/http/http_loop.h"
#include "adapters/handler/http/push_request.h"
#include "ports/pending_attempts.h"

namespace bartleby {

struct HttpHandlerOptions {
  HttpTargetOptions target{};
  std::string secret{};  // of Standard Webhooks: whsec_…, or any text; empty: no signature
  std::vector<int> reject = {400, 413, 415, 422};
  std::vector<std::pair<std::string, std::string>> headers{};  // sent with every request
  std::vector<std::string> copy{};                             // record headers to copy by name, besides the usual ones
};

class HttpHandler : public Handler {
 public:
  // Without `pending` an answer "pending" is a fault of the endpoint. The handler keeps the loop alive.
  static Result<std::unique_ptr<HttpHandler>> make(HttpHandlerOptions options, std::shared_ptr<HttpLoop> loop,
                                                   std::shared_ptr<PendingAttempts> pending = nullptr);

  void start(std::shared_ptr<AttemptIn> attempt, Answer answer) override;
  bool in_process() const override { return false; }

 private:
  // What attempts on their way need, even when the handler is gone. Not the loop: the last of them ends on the
  // loop's own thread, which cannot wait for itself.
  struct Shared;

  HttpHandler(std::shared_ptr<HttpLoop> loop, std::shared_ptr<const Shared> shared)
      : loop_(std::move(loop)), shared_(std::move(shared)) {}

  static void replied(const Shared& shared, const std::shared_ptr<AttemptIn>& attempt, const HttpReply& reply,
                      Answer answer);

  const std::shared_ptr<HttpLoop> loop_;
  const std::shared_ptr<const Shared> shared_;
};

}  // namespace bartleby
