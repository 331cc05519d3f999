// For each mutant the first seed that caught it; `make mutants` finds them anew, and a change of the simulation may
// move them.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace bartleby::sim {

inline constexpr std::array<std::pair<std::string_view, std::uint64_t>, 35> kRecordedSeeds = {{
    {"CommitHighestDone", 2},
    {"NoDoneAboveHigh", 765},
    {"NoDoneAboveFrom", 69},
    {"PlainSuccessErasesEntry", 2660},
    {"DoneErasedEarly", 1287},
    {"DoneOfOpenLaneErased", 123},
    {"HighMayFall", 74},
    {"SurplusForgotten", 74},
    {"HighFromLiveState", 8},
    {"HeadEntryNotErased", 74},
    {"SweepRunsDone", 45},
    {"CleanStopForgetsDone", 45},
    {"DueHeadGetsNoRoom", 15},
    {"LetterDropped", 1},
    {"RefusedTakenForDone", 9},
    {"UnknownTakenForDone", 1},
    {"UnknownTakenForNotDone", 1},
    {"DecisionNotJournalled", 37},
    {"StaleEpochAccepted", 13},
    {"OffsetsReadUnstable", 48},
    {"JournalCheckIgnored", 9},
    {"ClaimMendsCheck", 9},
    {"EntriesAboveHighAreHeads", 29},
    {"ListedLanesForgotten", 2},
    {"EntryTimestampIgnored", 50},
    {"CrashesNotCounted", 7},
    {"InnocentsCounted", 7},
    {"SuspectsRunTogether", 12},
    {"ObituariesNotTailed", 173},
    {"ObituaryTimestampIgnored", 1252},
    {"GuardDoesNotStop", 23},
    {"OpenGuardCountsAttempts", 36},
    {"GuardLetsLettersPass", 50},
    {"GuardClosesAtOnce", 23},
    {"GuardCountsAttempts", 9},
}};

constexpr std::uint64_t recorded_seed(std::string_view mutant) {
  for (const auto& [name, seed] : kRecordedSeeds)
    if (name == mutant) return seed;
  return 0;
}

}  // namespace bartleby::sim
