#include "wiring/admission.h"

#include <algorithm>
#include <memory>

namespace bartleby {

std::function<Admission(const std::string& topic, const LogRecord& record)> admission_of(const WorkerConfig& worker) {
  auto matcher = std::make_shared<Matcher>();
  return [matcher, match = worker.match, cases = worker.case_matches()](const std::string&, const LogRecord& record) {
    Admission a;
    if (match && !matcher->matches(*match, record)) {
      a.skip = true;
      return a;
    }
    const auto first = matcher->first(cases, record);
    // It is for this worker and nobody knows how to handle it: skipped, it would be lost without a word.
    if (!first) a.refuse = Reason::kMalformed;
    a.case_id = static_cast<std::uint16_t>(first.value_or(0));
    return a;
  };
}

ReplayOf replays_of(const std::string& group, std::vector<OfficeKey> keys,
                    std::function<void(const std::string& topic, const LogRecord& record)> stranger) {
  return [group, keys = std::move(keys), stranger = std::move(stranger)](const std::string& topic,
                                                                         const LogRecord& record) {
    auto mark = replay_mark(record, keys, topic);
    if (mark && mark->group != group) mark.reset();
    if (!mark && stranger &&
        std::ranges::any_of(record.headers, [](const auto& h) { return h.first == kReplayHeader; }))
      stranger(topic, record);
    return mark;
  };
}

}  // namespace bartleby
