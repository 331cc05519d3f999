// For each mutant the first seed that caught it; `make mutants` finds them anew, and a change of the simulation may
// move them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace bartleby::sim {

inline constexpr std::array<std::pair<std::string_view, std::uint64_t>, 66> kRecordedSeeds = {{
    {"CommitHighestDone", 1},        {"CommitsOneTooFar", 1},          {"NoDoneAboveHigh", 50},
    {"NoDoneAboveFrom", 129},        {"PlainSuccessErasesEntry", 50},  {"EntryErasedBeforeVerdict", 1},
    {"DoneErasedEarly", 57},         {"DoneOfOpenLaneErased", 25},     {"HighMayFall", 31},
    {"SurplusForgotten", 19},        {"HighFromLiveState", 10},        {"HeadEntryNotErased", 23},
    {"SweepRunsDone", 25},           {"SweepRunsSelf", 125},           {"CleanStopForgetsDone", 109},
    {"DueHeadGetsNoRoom", 1},        {"ShortSweepTaken", 8},           {"ReadsNotCounted", 5758},
    {"ReleaseBeforeHandlersEnd", 8}, {"DispatchWhileDraining", 14},    {"BufferedDroppedOnRebalance", 848},
    {"ReleaseWithoutSurplus", 142},  {"ReleaseKeepsName", 61},         {"FirstItemLimited", 12},
    {"IdWithoutRandomPart", 5},      {"LateCommitTaken", 223},         {"LetterDropped", 1},
    {"OutcomeDropped", 1},           {"NoDoneForOutcome", 50},         {"RefusedTakenForDone", 1},
    {"UnknownTakenForDone", 1},      {"UnknownTakenForNotDone", 1},    {"DecisionNotJournalled", 165},
    {"LetterNotReadAgain", 40},      {"StaleEpochAccepted", 1},       {"OneAttemptMore", 1},
    {"RunsBeforeClaim", 1},          {"CrashesOfFirstCase", 866},      {"SettingsRunParked", 584},
    {"OffsetsReadUnstable", 40},     {"ResolvedWhilePending", 241},    {"JournalCheckIgnored", 8},
    {"ClaimMendsCheck", 8},          {"EntriesAboveHighAreHeads", 45}, {"StartsBehindHigh", 1},
    {"LateJournalTaken", 125},       {"ListedLanesForgotten", 3},      {"FollowersForgotten", 3},
    {"ResetKeepsDone", 268},         {"ClaimEndsReset", 414},          {"EntriesBelowLowKept", 5},
    {"PolicyDecidesSelf", 1},        {"AddedPartitionAtEnd", 3},       {"NewerMetadataTaken", 244},
    {"EntryTimestampIgnored", 483},  {"CrashesNotCounted", 9},         {"InnocentsCounted", 3},
    {"SuspectsRunTogether", 9},      {"ObituariesNotTailed", 140},      {"ObituaryTimestampIgnored", 483},
    {"GuardDoesNotStop", 21},        {"OpenGuardCountsAttempts", 21},  {"GuardLetsLettersPass", 32},
    {"UnrunProbeAwaited", 1032},      {"GuardClosesAtOnce", 21},        {"GuardCountsAttempts", 48},
}};

inline constexpr std::array<std::pair<std::string_view, std::uint64_t>, 54> kRecordedOfficeSeeds = {{
    {"PositionNotCompared", 53},
    {"PositionBeforeLetters", 1},
    {"FailedBatchTakenForStored", 15},
    {"DoneToIgnored", 24},
    {"PartsJoinedAcrossLetters", 57},
    {"PartsHoldNothingBack", 11},
    {"MissedNotCounted", 25},
    {"NewTopicNotNoticed", 3},
    {"LogIdNotCompared", 572},
    {"CameBackStaysAsItWas", 5},
    {"BrokerCursorIgnored", 5},
    {"WrittenDownBeforeSent", 1},
    {"TakenForgottenWhenStopped", 2},
    {"SentThoughStopped", 2},
    {"CanaryNotJudged", 4},
    {"CanaryNotAwaited", 4},
    {"HaltNotLookedAt", 47},
    {"ResumeCountsAgain", 4},
    {"PauseForgives", 4},
    {"SendsBeside", 1},
    {"OneByOneForgotten", 6},
    {"VersionNotCompared", 13},
    {"EarlierOutcomeCounts", 2},
    {"PurgeNotCounted", 1},
    {"PurgeLeavesBytes", 1},
    {"SilentChange", 1},
    {"CancelNotCounted", 1},
    {"OutcomeNotCounted", 1},
    {"WalkNotFollowed", 1},
    {"LateLifeNotKnown", 2},
    {"FirstPlaceForgotten", 21},
    {"FreedWithLetters", 1},
    {"RunningForgotten", 2},
    {"WaitingForgotten", 21},
    {"ForgottenStillCounted", 2},
    {"BytesLeaveFirst", 3},
    {"LeftStaysInArchive", 3},
    {"OldFileDeletedFirst", 3},
    {"ListedThoughDeleted", 80},
    {"NameNotWritten", 53},
    {"StaleArchiveRewritten", 105},
    {"DeletedOnce", 1394},
    {"LeavesQueueFirst", 1},
    {"SinkFailureIgnored", 21},
    {"RefusedDropped", 3},
    {"RefusedForgotten", 3},
    {"QueuedAfterLetters", 2},
    {"LaterLifeNotQueued", 2},
    {"LateLifeNotQueued", 285},
    {"FeedNotFilled", 1},
    {"EarlierLivesNotFilled", 11},
    {"TakenBackIsNextLife", 225},
    {"FeedOutlivesSink", 4},
    {"QueuedShelfFreed", 16},
}};

constexpr std::uint64_t recorded_seed(std::string_view mutant) {
  for (const auto& [name, seed] : kRecordedSeeds)
    if (name == mutant) return seed;
  for (const auto& [name, seed] : kRecordedOfficeSeeds)
    if (name == mutant) return seed;
  return 0;
}

}  // namespace bartleby::sim
