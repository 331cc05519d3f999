// Where attempts stay that a handler in another process will finish later, by their tokens.
//
// Every call may come from any thread. A handler may finish an attempt before its answer "pending" has arrived here:
// therefore an attempt is announced before it is sent, and what was said in between is not lost.
#pragma once

#include <memory>
#include <optional>

#include "ports/handler.h"

namespace bartleby {

class PendingAttempts {
 public:
  virtual ~PendingAttempts() = default;

  // From now on the token can be finished and extended. False when there is no room or the token is taken: the
  // attempt then must not be sent.
  virtual bool announce(const std::shared_ptr<AttemptIn>& attempt) = 0;

  // The handler will finish it later: the answer is kept until it does, or until the deadline. An attempt that has
  // been finished meanwhile is answered at once, from inside the call.
  virtual void keep(const std::shared_ptr<AttemptIn>& attempt, Answer answer) = 0;

  // The attempt ended in another way. If it was finished by its token before, that is what counts.
  virtual std::optional<Decision> withdraw(const std::string& token) = 0;
};

}  // namespace bartleby
