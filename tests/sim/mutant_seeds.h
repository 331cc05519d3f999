// For each mutant the first seed that caught it; `make mutants` finds them anew, and a change of the simulation may
// move them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace bartleby::sim {

inline constexpr std::array<std::pair<std::string_view, std::uint64_t>, 45> kRecordedSeeds = {{
    {"CommitHighestDone", 2},
    {"NoDoneAboveHigh", 25},
    {"NoDoneAboveFrom", 14},
    {"PlainSuccessErasesEntry", 2011},
    {"DoneErasedEarly", 111},
    {"DoneOfOpenLaneErased", 14},
    {"HighMayFall", 4},
    {"SurplusForgotten", 4},
    {"HighFromLiveState", 4},
    {"HeadEntryNotErased", 4},
    {"SweepRunsDone", 130},
    {"SweepRunsSelf", 632},
    {"CleanStopForgetsDone", 548},
    {"DueHeadGetsNoRoom", 17},
    {"FirstItemLimited", 20},
    {"IdWithoutRandomPart", 4},
    {"LetterDropped", 1},
    {"RefusedTakenForDone", 1},
    {"UnknownTakenForDone", 1},
    {"UnknownTakenForNotDone", 1},
    {"DecisionNotJournalled", 67},
    {"StaleEpochAccepted", 27},
    {"OffsetsReadUnstable", 39},
    {"JournalCheckIgnored", 8},
    {"ClaimMendsCheck", 8},
    {"EntriesAboveHighAreHeads", 4},
    {"ListedLanesForgotten", 1},
    {"FollowersForgotten", 1},
    {"ResetKeepsDone", 1874},
    {"ClaimEndsReset", 1999},
    {"EntriesBelowLowKept", 10},
    {"PolicyDecidesSelf", 1},
    {"AddedPartitionAtEnd", 3},
    {"NewerMetadataTaken", 36},
    {"EntryTimestampIgnored", 21},
    {"CrashesNotCounted", 14},
    {"InnocentsCounted", 1},
    {"SuspectsRunTogether", 1},
    {"ObituariesNotTailed", 1195},
    {"ObituaryTimestampIgnored", 30},
    {"GuardDoesNotStop", 1},
    {"OpenGuardCountsAttempts", 1},
    {"GuardLetsLettersPass", 32},
    {"GuardClosesAtOnce", 1},
    {"GuardCountsAttempts", 1},
}};

constexpr std::uint64_t recorded_seed(std::string_view mutant) {
  for (const auto& [name, seed] : kRecordedSeeds)
    if (name == mutant) return seed;
  return 0;
}

}  // namespace bartleby::sim
