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
    {"FollowersForgotten", 5},
    {"ResetKeepsDone", 268},
    {"ClaimEndsReset", 7082},
    {"EntriesBelowLowKept", 2},
    {"PolicyDecidesSelf", 11},
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

inline constexpr std::array<std::pair<std::string_view, std::uint64_t>, 35> kRecordedOfficeSeeds = {{
    {"PositionNotCompared", 53},
    {"PositionBeforeLetters", 1},
    {"FailedBatchTakenForStored", 8},
    {"DoneToIgnored", 53},
    {"PartsJoinedAcrossLetters", 54},
    {"PartsHoldNothingBack", 11},
    {"MissedNotCounted", 4},
    {"NewTopicNotNoticed", 2},
    {"CameBackStaysAsItWas", 3},
    {"BrokerCursorIgnored", 2},
    {"WrittenDownBeforeSent", 1},
    {"TakenForgottenWhenStopped", 1},
    {"SentThoughStopped", 1},
    {"CanaryNotJudged", 11},
    {"CanaryNotAwaited", 9},
    {"HaltNotLookedAt", 213},
    {"ResumeCountsAgain", 19},
    {"OneByOneForgotten", 32},
    {"VersionNotCompared", 19},
    {"EarlierOutcomeCounts", 139},
    {"PurgeNotCounted", 1},
    {"PurgeLeavesBytes", 1},
    {"SilentChange", 1},
    {"CancelNotCounted", 1},
    {"OutcomeNotCounted", 1},
    {"WalkNotFollowed", 1},
    {"LateLifeNotKnown", 103},
    {"FreedWithLetters", 2},
    {"RunningForgotten", 2},
    {"WaitingForgotten", 86},
    {"ForgottenStillCounted", 2},
    {"BytesLeaveFirst", 8},
    {"LeftStaysInArchive", 10},
    {"OldFileDeletedFirst", 11},
    {"UsedFileDeleted", 53},
}};

constexpr std::uint64_t recorded_seed(std::string_view mutant) {
  for (const auto& [name, seed] : kRecordedSeeds)
    if (name == mutant) return seed;
  for (const auto& [name, seed] : kRecordedOfficeSeeds)
    if (name == mutant) return seed;
  return 0;
}

}  // namespace bartleby::sim
