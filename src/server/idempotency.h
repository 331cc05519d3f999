// `Idempotency-Key`: a POST that was carried out is not carried out again; its answer is given again.
//
// Any thread. A key belongs to its caller; with it goes a hash of the whole request. The same request gets the same
// answer, another one 422, one that is still under way 409. Only success is kept: what was refused has changed nothing
// and is tried anew. Answers are kept for 24 hours in the store, at most 10,000 and none above 64 KB packed; what
// cannot be kept is answered all the same, with `Bartleby-Answer-Kept: false`. A process that dies between the work and
// the answer leaves no answer behind: then the request is carried out again.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "ports/store.h"
#include "server/router.h"

namespace bartleby {

class KeptAnswers {
 public:
  KeptAnswers(Store& store, const Clock& clock, Log& log);

  // Before a route is called: the answer, where there is one. Else the answer that `respond` gets will be kept.
  std::optional<Response> begin(const Request& request, const Route& route, Respond& respond);

 private:
  struct Asked {
    std::string actor, key, hash;
    Timestamp at;
  };
  struct UnderWay;  // shared with answers that come later

  std::optional<Response> find(const Asked& asked);
  bool keep(const Asked& asked, const Response& response);

  Store& store_;
  const Clock& clock_;
  Log& log_;
  std::shared_ptr<UnderWay> under_way_;
};

}  // namespace bartleby
