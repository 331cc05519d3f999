#include "codec/metadata.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "base/random.h"
#include "codec/base64.h"

namespace bartleby {
namespace {

constexpr Offset kL{1000};

CommitMetadata sample() {
  CommitMetadata m;
  m.writer = "bartleby.g.i.1";
  m.serial = WriteSerial(300);
  m.unclean = 1;
  m.high = Offset(1200);
  m.check = JournalCheck{2, 0x0102030405060708ULL};
  m.counters = {1000, 1, 2};
  m.heads = {{Offset(1000), Lane(0xdeadbeef)}, {Offset(1100), std::nullopt}, {Offset(1100), Lane(7)}};
  return m;
}

// A number of any length, the longest included.
std::uint64_t any_number(Random& random) { return random.next() >> random.below(64); }

CommitMetadata random_metadata(Random& random, Offset committed, std::size_t max_heads) {
  CommitMetadata m;
  for (std::uint64_t i = random.below(80); i > 0; --i) m.writer.push_back(static_cast<char>(random.next()));
  m.serial = WriteSerial(any_number(random));
  m.unclean = static_cast<std::uint32_t>(any_number(random));
  if (random.chance(50)) m.check = JournalCheck{any_number(random), any_number(random)};
  m.counters = {any_number(random), any_number(random), any_number(random)};
  Offset at = committed;
  for (std::uint64_t i = random.below(max_heads + 1); i > 0; --i) {
    at = Offset(at.v + static_cast<std::int64_t>(any_number(random) >> 28));
    Head& head = m.heads.emplace_back(Head{at, std::nullopt});
    if (random.chance(80)) head.lane = Lane(static_cast<std::uint32_t>(random.next()));
  }
  if (random.chance(50)) m.log = any_number(random);
  m.high = Offset(at.v + (m.heads.empty() ? 0 : 1) + static_cast<std::int64_t>(random.below(1000)));
  return m;
}

// A payload as nobody of ours would write it, with a checksum that is right.
std::string sealed(std::string payload, Offset committed) {
  const std::uint64_t sum = combine(hash64(payload), static_cast<std::uint64_t>(committed.v)) >> 32;
  for (int i = 0; i < 4; ++i) payload.push_back(static_cast<char>(sum >> (8 * i)));
  std::string text = "b1.";
  append_base64(text, payload, Base64::kBare);
  return text;
}

MetadataOrigin origin_of(std::string_view text) { return decode_metadata(text, kL).origin; }

TEST(Metadata, HasThisTextForEver) {
  EXPECT_EQ(encode_metadata(sample(), kL), "b1.DmJhcnRsZWJ5LmcuaS4xrAIByAEBAggHBgUEAwIB6AcBAgMB776t3sgBAQcAAADUfrvR");
  EXPECT_EQ(encode_metadata(CommitMetadata{}, Offset(0)), "b1.AAAAAAAAAAAA+0X3Ng");
  CommitMetadata with_log = sample();
  with_log.log = 0x1122334455667788ULL;
  EXPECT_EQ(encode_metadata(with_log, kL),
            "b1.DmJhcnRsZWJ5LmcuaS4xrAIByAEBAggHBgUEAwIB6AcBAgMB776t3sgBAQcAAACId2ZVRDMiEX77U6E");
}

TEST(Metadata, ReadsBackWhatWasWritten) {
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    const Offset committed(static_cast<std::int64_t>(any_number(random) >> 2));
    const CommitMetadata m = random_metadata(random, committed, 100);
    const std::string text = encode_metadata(m, committed);
    const DecodedMetadata decoded = decode_metadata(text, committed);
    ASSERT_EQ(decoded.origin, MetadataOrigin::kOurs);
    ASSERT_EQ(decoded.metadata, m);
    ASSERT_EQ(encode_metadata(decoded.metadata, committed), text);
  }
}

TEST(Metadata, KeepsTheLargestNumbers) {
  CommitMetadata m;
  m.writer = std::string(kMaxWriterId, 'w');
  m.serial = WriteSerial(UINT64_MAX);
  m.unclean = UINT32_MAX;
  m.high = Offset(INT64_MAX);
  m.check = JournalCheck{UINT64_MAX, UINT64_MAX};
  m.counters = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
  m.heads = {{Offset(INT64_MAX - 1), Lane(UINT32_MAX)}};
  m.log = UINT64_MAX;
  EXPECT_EQ(decode_metadata(encode_metadata(m, Offset(0)), Offset(0)).metadata, m);
}

TEST(Metadata, TellsEmptyForeignNewerAndDamagedApart) {
  EXPECT_EQ(origin_of(""), MetadataOrigin::kEmpty);
  for (const char* foreign : {"x", "b", "b1", "b.", "1.", "b1x.AAAA", "B1.AAAA", "{\"offset\":3}", " b1.AAAA"})
    EXPECT_EQ(origin_of(foreign), MetadataOrigin::kForeign) << foreign;
  for (const char* newer : {"b2.", "b2.AAAA", "b10.%%", "b0.", "b123456789012345678901."})
    EXPECT_EQ(origin_of(newer), MetadataOrigin::kNewer) << newer;
  for (const char* damaged : {"b1.", "b1.A", "b1.AAAA", "b1.AAAAAAAAAAAA+0X3Ng", "b1.!!!!", "b1.AAAAAAAAAAAA+0X3Ng=="})
    EXPECT_EQ(origin_of(damaged), MetadataOrigin::kDamaged) << damaged;
}

TEST(Metadata, NoticesEveryChangedCharacter) {
  const std::string text = encode_metadata(sample(), kL);
  for (std::size_t i = 3; i < text.size(); ++i) {
    for (const char c : {'A', 'Q', 'z', '/', '=', '\0'}) {
      if (text[i] == c) continue;
      std::string changed = text;
      changed[i] = c;
      EXPECT_EQ(origin_of(changed), MetadataOrigin::kDamaged) << i;
    }
    EXPECT_EQ(origin_of(text.substr(0, i)), MetadataOrigin::kDamaged) << i;
  }
  EXPECT_EQ(origin_of(text + "A"), MetadataOrigin::kDamaged);
}

TEST(Metadata, IsDamagedBesideAnOffsetThatItWasNotWrittenFor) {
  const std::string text = encode_metadata(sample(), kL);
  EXPECT_EQ(decode_metadata(text, Offset(1001)).origin, MetadataOrigin::kDamaged);
  EXPECT_EQ(decode_metadata(text, Offset(0)).origin, MetadataOrigin::kDamaged);
}

TEST(Metadata, RefusesWhatAValidChecksumCannotExcuse) {
  const std::string fixed("\0\0\0\5\0\0\0\0", 8);  // H − L = 5, nothing else
  const auto with = [&](std::string rest) { return sealed(fixed + rest, kL); };
  ASSERT_EQ(origin_of(with(std::string("\0", 1))), MetadataOrigin::kOurs);
  ASSERT_EQ(origin_of(with("\1\x08")), MetadataOrigin::kOurs) << "a head at H − 1";
  EXPECT_EQ(origin_of(with("\1\x0a")), MetadataOrigin::kDamaged) << "a head at H";
  EXPECT_EQ(origin_of(with("\2\x04\x08")), MetadataOrigin::kDamaged) << "the second head above H";
  EXPECT_EQ(origin_of(with("\2\x04")), MetadataOrigin::kDamaged) << "a head too few";
  EXPECT_EQ(origin_of(with("\1\x04\x04")), MetadataOrigin::kDamaged) << "a head too many";
  EXPECT_EQ(origin_of(with("\1\x05\1\2\3")), MetadataOrigin::kDamaged) << "half a lane";
  EXPECT_EQ(origin_of(with("\x81\x80\x80\x80\x80\x80\x80\x80\x01")), MetadataOrigin::kDamaged) << "heads without end";
  EXPECT_EQ(origin_of(with(std::string("\x80\0", 2))), MetadataOrigin::kDamaged) << "a number longer than needed";
  EXPECT_EQ(origin_of(with("")), MetadataOrigin::kDamaged) << "no heads at all";
  ASSERT_EQ(origin_of(with(std::string("\0\1\0\0\0\0\0\0\0", 9))), MetadataOrigin::kOurs) << "log 1";
  EXPECT_EQ(origin_of(with(std::string("\0\1\0\0\0\0\0\0", 8))), MetadataOrigin::kDamaged) << "a log of 7 bytes";
  EXPECT_EQ(origin_of(with(std::string("\0\1\0\0\0\0\0\0\0\0", 10))), MetadataOrigin::kDamaged) << "one of 9";
  EXPECT_EQ(origin_of(with(std::string(9, '\0'))), MetadataOrigin::kDamaged) << "log 0 is not written";
  const std::string overflow = std::string("\0\0\0", 3) + "\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + std::string(5, '\0');
  EXPECT_EQ(decode_metadata(sealed(overflow, Offset(0)), Offset(0)).origin, MetadataOrigin::kOurs);
  EXPECT_EQ(origin_of(sealed(overflow, kL)), MetadataOrigin::kDamaged) << "H above every offset";
  const std::string too_long = std::string(1, '\0') + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02" + std::string(7, '\0');
  EXPECT_EQ(origin_of(sealed(too_long, kL)), MetadataOrigin::kDamaged) << "a serial of 65 bits";
  const std::string unknown_check("\0\0\0\5\2\0\0\0\0", 9);
  EXPECT_EQ(origin_of(sealed(unknown_check, kL)), MetadataOrigin::kDamaged) << "a check that is neither there nor not";
}

TEST(MetadataBudget, CountsExactlyTheCharactersOfTheText) {
  Random random(2);
  for (int i = 0; i < 1000; ++i) {
    const Offset committed(static_cast<std::int64_t>(random.below(1'000'000)));
    const CommitMetadata m = random_metadata(random, committed, 200);
    CommitMetadata so_far = m;
    so_far.heads.clear();
    MetadataBudget budget(so_far, committed);
    ASSERT_EQ(budget.characters(), encode_metadata(so_far, committed).size());
    for (const Head& head : m.heads) {
      ASSERT_TRUE(budget.add(head));
      so_far.heads.push_back(head);
      if (random.chance(10)) {
        ASSERT_EQ(budget.characters(), encode_metadata(so_far, committed).size());
      }
    }
    ASSERT_EQ(budget.characters(), encode_metadata(m, committed).size());
  }
}

TEST(MetadataBudget, RefusesTheHeadThatWouldExceedTheLimitAndAllAfterIt) {
  Random random(3);
  for (int i = 0; i < 1000; ++i) {
    const Offset committed(static_cast<std::int64_t>(random.below(1'000'000)));
    const CommitMetadata m = random_metadata(random, committed, 150);
    const std::size_t limit = random.below(1200);
    CommitMetadata so_far = m;
    so_far.heads.clear();
    MetadataBudget budget(so_far, committed, limit);
    bool full = false;
    for (const Head& head : m.heads) {
      so_far.heads.push_back(head);
      full = full || encode_metadata(so_far, committed).size() > limit;
      ASSERT_EQ(budget.add(head), !full);
      if (full) so_far.heads.pop_back();
    }
    ASSERT_EQ(budget.characters(), encode_metadata(so_far, committed).size());
  }
}

TEST(MetadataBudget, HasRoomForHundredsOfHeads) {
  CommitMetadata m = sample();
  m.heads.clear();
  m.high = Offset(INT64_MAX);
  MetadataBudget budget(m, kL);
  std::size_t heads = 0;
  while (budget.add({Offset(kL.v + static_cast<std::int64_t>(heads + 1) * 50), Lane(1)})) ++heads;
  EXPECT_GT(heads, 500U);
  EXPECT_LE(budget.characters(), kMaxMetadata);
}

TEST(MetadataDeathTest, IsNeverWrittenLargerThanTheLimitOrWithHeadsOutOfPlace) {
  CommitMetadata m = sample();
  EXPECT_DEATH(encode_metadata(m, kL, 20), "limit");
  m.heads = {{Offset(1100), std::nullopt}, {Offset(1099), std::nullopt}};
  EXPECT_DEATH(encode_metadata(m, kL), "from");
  m.heads = {{Offset(1200), std::nullopt}};
  EXPECT_DEATH(encode_metadata(m, kL), "high");
}

}  // namespace
}  // namespace bartleby
