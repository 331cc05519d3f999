// For each mutant the first seed that caught it; `make mutants` finds them anew, and a change of the simulation may
// move them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace bartleby::sim {

inline constexpr std::array<std::pair<std::string_view, std::uint64_t>, 55> kRecordedSeeds = {{
    {"CommitHighestDone", 1},
    {"NoDoneAboveHigh", 5},
    {"NoDoneAboveFrom", 178},
    {"PlainSuccessErasesEntry", 2466},
    {"DoneErasedEarly", 23},
    {"DoneOfOpenLaneErased", 178},
    {"HighMayFall", 24},
    {"SurplusForgotten", 23},
    {"HighFromLiveState", 5},
    {"HeadEntryNotErased", 23},
    {"SweepRunsDone", 101},
    {"SweepRunsSelf", 249},
    {"CleanStopForgetsDone", 101},
    {"DueHeadGetsNoRoom", 1},
    {"ReadsNotCounted", 3519},
    {"ReleaseBeforeHandlersEnd", 6},
    {"DispatchWhileDraining", 41},
    {"ReleaseWithoutSurplus", 106},
    {"ReleaseKeepsName", 101},
    {"FirstItemLimited", 12},
    {"IdWithoutRandomPart", 2},
    {"LetterDropped", 1},
    {"RefusedTakenForDone", 1},
    {"UnknownTakenForDone", 1},
    {"UnknownTakenForNotDone", 1},
    {"DecisionNotJournalled", 165},
    {"StaleEpochAccepted", 19},
    {"OneAttemptMore", 1},
    {"RunsBeforeClaim", 1},
    {"CrashesOfFirstCase", 1542},
    {"SettingsRunParked", 584},
    {"OffsetsReadUnstable", 34},
    {"JournalCheckIgnored", 55},
    {"ClaimMendsCheck", 55},
    {"EntriesAboveHighAreHeads", 23},
    {"LateJournalTaken", 213},
    {"ListedLanesForgotten", 1},
    {"FollowersForgotten", 1},
    {"ResetKeepsDone", 268},
    {"ClaimEndsReset", 7082},
    {"EntriesBelowLowKept", 2},
    {"PolicyDecidesSelf", 1},
    {"AddedPartitionAtEnd", 3},
    {"NewerMetadataTaken", 244},
    {"EntryTimestampIgnored", 406},
    {"CrashesNotCounted", 9},
    {"InnocentsCounted", 9},
    {"SuspectsRunTogether", 9},
    {"ObituariesNotTailed", 79},
    {"ObituaryTimestampIgnored", 672},
    {"GuardDoesNotStop", 24},
    {"OpenGuardCountsAttempts", 24},
    {"GuardLetsLettersPass", 55},
    {"GuardClosesAtOnce", 24},
    {"GuardCountsAttempts", 92},
}};

inline constexpr std::array<std::pair<std::string_view, std::uint64_t>, 47> kRecordedOfficeSeeds = {{
    {"PositionNotCompared", 20},
    {"PositionBeforeLetters", 1},
    {"FailedBatchTakenForStored", 7},
    {"DoneToIgnored", 2},
    {"PartsJoinedAcrossLetters", 46},
    {"PartsHoldNothingBack", 2},
    {"MissedNotCounted", 25},
    {"NewTopicNotNoticed", 2},
    {"CameBackStaysAsItWas", 3},
    {"BrokerCursorIgnored", 8},
    {"WrittenDownBeforeSent", 2},
    {"TakenForgottenWhenStopped", 5},
    {"SentThoughStopped", 5},
    {"CanaryNotJudged", 2},
    {"CanaryNotAwaited", 5},
    {"HaltNotLookedAt", 62},
    {"ResumeCountsAgain", 2},
    {"OneByOneForgotten", 2},
    {"VersionNotCompared", 6},
    {"EarlierOutcomeCounts", 15},
    {"PurgeNotCounted", 1},
    {"PurgeLeavesBytes", 1},
    {"SilentChange", 2},
    {"CancelNotCounted", 2},
    {"OutcomeNotCounted", 2},
    {"WalkNotFollowed", 1},
    {"LateLifeNotKnown", 10},
    {"FreedWithLetters", 1},
    {"RunningForgotten", 2},
    {"WaitingForgotten", 59},
    {"ForgottenStillCounted", 2},
    {"BytesLeaveFirst", 8},
    {"LeftStaysInArchive", 8},
    {"OldFileDeletedFirst", 11},
    {"UsedFileDeleted", 101},
    {"LeavesQueueFirst", 1},
    {"SinkFailureIgnored", 35},
    {"RefusedDropped", 1},
    {"RefusedForgotten", 1},
    {"QueuedAfterLetters", 1},
    {"LaterLifeNotQueued", 2},
    {"LateLifeNotQueued", 152},
    {"FeedNotFilled", 3},
    {"EarlierLivesNotFilled", 8},
    {"TakenBackIsNextLife", 86},
    {"FeedOutlivesSink", 6},
    {"QueuedShelfFreed", 48},
}};

constexpr std::uint64_t recorded_seed(std::string_view mutant) {
  for (const auto& [name, seed] : kRecordedSeeds)
    if (name == mutant) return seed;
  for (const auto& [name, seed] : kRecordedOfficeSeeds)
    if (name == mutant) return seed;
  return 0;
}

}  // namespace bartleby::sim
