// For each mutant the first seed that caught it; `make mutants` finds them anew, and a change of the simulation may
// move them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace bartleby::sim {

inline constexpr std::array<std::pair<std::string_view, std::uint64_t>, 47> kRecordedSeeds = {{
    {"CommitHighestDone", 1},
    {"NoDoneAboveHigh", 5},
    {"NoDoneAboveFrom", 122},
    {"PlainSuccessErasesEntry", 554},
    {"DoneErasedEarly", 137},
    {"DoneOfOpenLaneErased", 178},
    {"HighMayFall", 13},
    {"SurplusForgotten", 13},
    {"HighFromLiveState", 5},
    {"HeadEntryNotErased", 13},
    {"SweepRunsDone", 125},
    {"SweepRunsSelf", 373},
    {"CleanStopForgetsDone", 125},
    {"DueHeadGetsNoRoom", 22},
    {"FirstItemLimited", 12},
    {"IdWithoutRandomPart", 9},
    {"LetterDropped", 1},
    {"RefusedTakenForDone", 6},
    {"UnknownTakenForDone", 1},
    {"UnknownTakenForNotDone", 1},
    {"DecisionNotJournalled", 113},
    {"StaleEpochAccepted", 19},
    {"SettingsRunParked", 522},
    {"OffsetsReadUnstable", 40},
    {"JournalCheckIgnored", 34},
    {"ClaimMendsCheck", 34},
    {"EntriesAboveHighAreHeads", 23},
    {"LateJournalTaken", 467},
    {"ListedLanesForgotten", 1},
    {"FollowersForgotten", 1},
    {"ResetKeepsDone", 268},
    {"ClaimEndsReset", 137},
    {"EntriesBelowLowKept", 2},
    {"PolicyDecidesSelf", 1},
    {"AddedPartitionAtEnd", 3},
    {"NewerMetadataTaken", 244},
    {"EntryTimestampIgnored", 328},
    {"CrashesNotCounted", 9},
    {"InnocentsCounted", 9},
    {"SuspectsRunTogether", 9},
    {"ObituariesNotTailed", 634},
    {"ObituaryTimestampIgnored", 1279},
    {"GuardDoesNotStop", 20},
    {"OpenGuardCountsAttempts", 20},
    {"GuardLetsLettersPass", 106},
    {"GuardClosesAtOnce", 20},
    {"GuardCountsAttempts", 51},
}};

constexpr std::uint64_t recorded_seed(std::string_view mutant) {
  for (const auto& [name, seed] : kRecordedSeeds)
    if (name == mutant) return seed;
  return 0;
}

}  // namespace bartleby::sim
