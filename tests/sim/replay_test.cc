// Recorded lives of workers, replayed: a fresh engine answers every step as the first one did, and if one event was
// another it is noticed where it came.
#include "tests/sim/replay.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/sim/rig.h"
#include "tests/sim/world.h"

namespace bartleby::sim {
namespace {

std::vector<std::string> recorded_lives(std::uint64_t seed) {
  std::vector<std::shared_ptr<std::string>> lives;
  const Options options = draw_options(seed, {});
  Coverage coverage;
  {
    World world(options, coverage, false);
    world.record([&](const EngineConfig& engine) {
      auto& life = lives.emplace_back(std::make_shared<std::string>());
      return std::make_unique<EventRecorder>(engine, [life](std::string_view bytes) {
        *life += bytes;
        return true;
      });
    });
    EXPECT_EQ(world.run().violation, "");
  }
  std::vector<std::string> all;
  for (const auto& life : lives) all.push_back(std::move(*life));
  return all;
}

TEST(Recorded, EveryLifeOfASeedIsReplayedWithIdenticalCommands) {
  std::uint64_t lives = 0;
  std::uint64_t steps = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed)
    for (const std::string& life : recorded_lives(seed)) {
      const Replay result = replay(life);
      ASSERT_TRUE(result.identical()) << "seed " << seed << ": " << result.text();
      EXPECT_FALSE(result.cut_off);
      ++lives;
      steps += result.steps;
    }
  EXPECT_GT(lives, 50u);
  EXPECT_GT(steps, 10000u);
}

// The same recording with one event of one step changed; the answers stay. Zero: there is no such step.
struct Changed {
  std::string bytes;
  std::uint64_t step = 0;
};

Changed with_one_slot_changed(const std::string& recording) {
  Changed out;
  auto reader = RecordingReader::open(recording);
  EXPECT_TRUE(reader.has_value());
  Engine engine(reader->config());
  EventRecorder recorder(reader->config(), [&](std::string_view bytes) {
    out.bytes += bytes;
    return true;
  });
  Commands commands;
  RecordedStep step;
  std::uint64_t steps = 0;
  while (*reader->next(step)) {
    ++steps;
    commands.clear();
    engine.step(step.events, step.completions, step.now, commands);
    // A record that this very step hands to a handler.
    for (auto& batch : step.batches)
      for (RecordRef& r : batch)
        if (out.step == 0 && std::ranges::any_of(commands.items, [&](const RunItem& i) { return i.slot == r.slot; })) {
          r.slot += 100000;
          out.step = steps;
        }
    recorder.before(step.events, step.completions, step.now);
    recorder.after(commands);
  }
  return out;
}

TEST(Recorded, OneChangedEventIsReportedAtItsStep) {
  int changed = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed)
    for (const std::string& life : recorded_lives(seed)) {
      const Changed other = with_one_slot_changed(life);
      if (other.step == 0) continue;
      ++changed;
      const Replay result = replay(other.bytes);
      ASSERT_FALSE(result.identical());
      EXPECT_EQ(result.steps, other.step);
      EXPECT_TRUE(result.text().starts_with("step " + std::to_string(other.step) + " at ")) << result.text();
      EXPECT_NE(result.text().find("fetch of partition"), std::string::npos) << result.text();
    }
  EXPECT_GT(changed, 0);
}

TEST(Recorded, AnEngineWithAMistakeAnswersOtherwise) {
  int noticed = 0;
  for (const std::string& life : recorded_lives(1)) {
    const WithMutant off(Mutant::kLetterDropped);
    noticed += replay(life).identical() ? 0 : 1;
  }
  EXPECT_GT(noticed, 0);
}

TEST(Recorded, AFileThatCannotBeReadIsNotCalledIdentical) {
  EXPECT_FALSE(replay("no recording").identical());
  const std::string life = recorded_lives(1).front();
  const Replay result = replay(life + "e\x01z");
  EXPECT_FALSE(result.identical());
  EXPECT_NE(result.text().find("cannot be read"), std::string::npos) << result.text();
  EXPECT_TRUE(replay(std::string_view(life).substr(0, life.size() - 3)).cut_off);
}

}  // namespace
}  // namespace bartleby::sim
