// The engine's alarms as lines of the log.
#include <algorithm>
#include <array>

#include "base/assert.h"
#include "runtime/watcher.h"
#include "runtime/worker.h"

namespace bartleby {
namespace {

struct AlarmText {
  AlarmType type;
  LogLevel level;
  std::string_view event;
};
constexpr std::array kAlarms = {
    AlarmText{AlarmType::kForeignMetadata, LogLevel::kError, "foreign_metadata"},
    AlarmText{AlarmType::kNewerMetadata, LogLevel::kError, "newer_metadata"},
    AlarmText{AlarmType::kDamagedMetadata, LogLevel::kWarning, "damaged_metadata"},
    AlarmText{AlarmType::kJournalDiffers, LogLevel::kWarning, "journal_differs"},
    AlarmText{AlarmType::kOffsetReset, LogLevel::kError, "offset_reset"},
    AlarmText{AlarmType::kTopicMadeAnew, LogLevel::kError, "topic_made_anew"},
    AlarmText{AlarmType::kLostByRetention, LogLevel::kError, "lost_by_retention"},
    AlarmText{AlarmType::kExpiring, LogLevel::kWarning, "expiring"},
    AlarmText{AlarmType::kLimitParked, LogLevel::kWarning, "limit_parked"},
    AlarmText{AlarmType::kLimitWindow, LogLevel::kWarning, "limit_window"},
    AlarmText{AlarmType::kDestinationRefused, LogLevel::kError, "dlq_publish_failed"},
    AlarmText{AlarmType::kJournalRefused, LogLevel::kError, "journal_refused"},
    AlarmText{AlarmType::kGuardOpened, LogLevel::kWarning, "guard_opened"},
    AlarmText{AlarmType::kGuardClosed, LogLevel::kInfo, "guard_closed"},
    AlarmText{AlarmType::kExhaustedKept, LogLevel::kWarning, "exhausted_kept"},
    AlarmText{AlarmType::kCrashLoop, LogLevel::kError, "crash_loop"},
    AlarmText{AlarmType::kCrashPoison, LogLevel::kError, "crash_poison"},
    AlarmText{AlarmType::kStaleEntry, LogLevel::kInfo, "stale_entry"},
    AlarmText{AlarmType::kDrainExpired, LogLevel::kWarning, "drain_expired"},
    AlarmText{AlarmType::kParkedSkipped, LogLevel::kWarning, "parked_skipped"},
    AlarmText{AlarmType::kMetadataRefused, LogLevel::kError, "metadata_refused"},
};

}  // namespace

void Worker::told(const Alarm& alarm, const TopicPartition* tp) {
  count(alarm.type);
  const auto at = std::ranges::find(kAlarms, alarm.type, &AlarmText::type);
  BARTLEBY_ASSERT(at != kAlarms.end());
  // It may be gone; of a journal the alarm does not say why.
  if (alarm.type == AlarmType::kJournalRefused ||
      (alarm.type == AlarmType::kDestinationRefused && static_cast<Refusal>(alarm.number) == Refusal::kUnknownTopic))
    topics_missing_ = true;
  if (alarm.type == AlarmType::kDestinationRefused)
    return log_.error(at->event, {{"worker", spec_.name},
                                  {"topic", tp == nullptr ? std::string_view("-") : std::string_view(tp->topic)},
                                  {"partition", tp == nullptr ? -1 : tp->partition.v},
                                  {"offset", alarm.offset.v},
                                  {"error_type", error_type(static_cast<Refusal>(alarm.number))}});
  log_.write(at->level, at->event,
             {{"worker", spec_.name},
              {"topic", tp == nullptr ? std::string_view("-") : std::string_view(tp->topic)},
              {"partition", tp == nullptr ? -1 : tp->partition.v},
              {"offset", alarm.offset.v},
              {"number", alarm.number}});
}

}  // namespace bartleby
