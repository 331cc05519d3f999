// A line of an archive has a letter's bytes exactly; a damaged line is refused.
#include "codec/archive_line.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace bartleby {
namespace {

std::string random_bytes(Random& random, std::uint64_t longest) {
  std::string out;
  const bool text = random.below(2) == 0;
  for (std::uint64_t i = random.below(longest); i > 0; --i)
    out += static_cast<char>(text ? 32 + random.below(95) : random.below(256));
  return out;
}

Bytes random_value(Random& random, std::uint64_t longest) {
  return random.below(5) == 0 ? Bytes() : Bytes(random_bytes(random, longest));
}

LifeBytes random_life(Random& random, std::uint32_t number) {
  LifeBytes life{number, {random_value(random, 40), random_value(random, 300), {}, "at a.b(c:12)\n\"\\\t"}};
  for (std::uint64_t i = random.below(6); i > 0; --i) {
    life.payload.headers.emplace_back(random_bytes(random, 12), random_value(random, 30));
    if (random.below(3) == 0) life.payload.headers.push_back(life.payload.headers.back());
  }
  return life;
}

TEST(ArchiveLine, TenThousandRandomRecordsComeBackByteByByte) {
  Random random(7);
  for (int i = 0; i < 10000; ++i) {
    StoredLetter letter;
    letter.id = "ltr_" + std::to_string(i);
    letter.replays = static_cast<std::uint32_t>(random.below(4));
    letter.error_message = random_bytes(random, 60);
    std::vector<LifeBytes> lives;
    for (std::uint32_t life = 0; life <= letter.replays; ++life) lives.push_back(random_life(random, life));
    const std::string line = archive_line(letter, lives);
    ASSERT_EQ(line.find('\n'), line.size() - 1);
    const auto back = archived_letter(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_TRUE(back) << back.error().message << line;
    ASSERT_EQ(back->id, letter.id);
    ASSERT_EQ(back->replays, letter.replays);
    ASSERT_EQ(back->lives, lives) << line;
  }
}

TEST(ArchiveLine, WhatIsNotALineOfAnArchiveIsRefused) {
  for (const char* line :
       {"", "nothing", "[]", "{}", R"({"id":"a"})", R"({"id":"a","replays":0,"lives":[]})",
        R"({"id":"a","replays":-1,"lives":[{"life":0,"stack":"","key":null,"value":null,"headers":[]}]})",
        R"({"id":"a","replays":0,"lives":[{"life":0,"stack":"","key":5,"value":null,"headers":[]}]})",
        R"({"id":"a","replays":0,"lives":[{"life":0,"stack":"","key":{"base64":"?"},"value":null,"headers":[]}]})",
        R"({"id":"a","replays":0,"lives":[{"life":0,"stack":"","key":null,"value":null,"headers":[["a"]]}]})",
        R"({"id":"a","replays":0,"lives":[{"life":0,"stack":"","key":null,"value":null,"headers":[[null,"b"]]}]})"})
    EXPECT_FALSE(archived_letter(line)) << line;
  EXPECT_TRUE(archived_letter(
      R"({"id":"a","replays":0,"new":1,"lives":[{"life":0,"stack":"","key":null,"value":null,"headers":[]}]})"));
}

}  // namespace
}  // namespace bartleby
