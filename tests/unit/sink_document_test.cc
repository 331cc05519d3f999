// Documents of the MongoDB sink: lives composed in any order, and what happens at their limits.
#include <gtest/gtest.h>

#ifdef BARTLEBY_HAS_MONGODB

#include <algorithm>
#include <random>

#include "adapters/sink/mongodb/document.h"
#include "tests/contract/sink_contract.h"

namespace bartleby::mongodb {
namespace {

using contract::life;

std::string text_of(const bson_t& document) {
  char* text = bson_as_relaxed_extended_json(&document, nullptr);
  std::string out = text;
  bson_free(text);
  return out;
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

std::string ticket(std::size_t size) { return R"({"ticket_id":"t","log":")" + std::string(size, 'x') + "\"}"; }

// As the sink does it: each life read back from the document and composed with the next.
std::string composed(const std::vector<SinkLetter>& letters, const DocumentLimits& limits) {
  Bson document;
  for (const SinkLetter& letter : letters) {
    Lives lives;
    if (document) lives = *lives_of(*document);
    if (lives.add(life_of(letter, "ticket_id", limits))) document = document_of(lives, "ticket_id", 1, limits);
  }
  return text_of(*document);
}

TEST(SinkDocument, AnyOrderAndAnyRepetitionEndInTheSameDocument) {
  std::vector<SinkLetter> letters;
  for (int n = 0; n < 4; ++n)
    for (std::uint32_t replays = 0; replays < 3; ++replays) letters.push_back(life(n, ticket(20), replays));
  const std::string wanted = composed(letters, {});
  EXPECT_EQ(times(wanted, "\"letter\""), 12U);
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<SinkLetter> shuffled = letters;
    shuffled.insert(shuffled.end(), letters.begin(), letters.begin() + round % 12);
    std::ranges::shuffle(shuffled, random);
    EXPECT_EQ(composed(shuffled, {}), wanted) << round;
  }
}

TEST(SinkDocument, OldLivesLoseTheirFieldsBeforeADocumentIsTooLarge) {
  const DocumentLimits limits{.life = 10000, .document = 20000, .history = 1000};
  std::vector<SinkLetter> letters;
  for (std::uint32_t replays = 0; replays < 10; ++replays) letters.push_back(life(1, ticket(5000), replays));
  const std::string document = composed(letters, limits);
  EXPECT_LT(document.size(), 2 * limits.document);
  EXPECT_EQ(times(document, "\"letter\""), 10U) << "no life is forgotten";
  EXPECT_GE(times(document, "\"log\""), 2U) << "the newest keep all they have";
  EXPECT_EQ(times(document, "fields: the document would be too large") + times(document, "\"log\""), 10U);
  letters.push_back(letters[3]);
  EXPECT_EQ(composed(letters, limits), document);
}

TEST(SinkDocument, AtTheLimitOfLivesTheOldestAreLeftOutAndCounted) {
  const DocumentLimits limits{.history = 3};
  std::vector<SinkLetter> letters;
  for (std::uint32_t replays = 0; replays < 9; ++replays) letters.push_back(life(1, ticket(5), replays));
  const std::string document = composed(letters, limits);
  EXPECT_EQ(times(document, "\"letter\""), 4U);
  EXPECT_NE(document.find(R"("left_out" : 5)"), std::string::npos) << document;
  letters.push_back(letters[0]);  // what was left out does not come back, nor is it counted again
  EXPECT_EQ(composed(letters, limits), document);
}

TEST(SinkDocument, ALifeThatIsTooLargeKeepsItsKeyAndItsStory) {
  const Life one = life_of(life(1, ticket(5000)), "ticket_id", {.life = 4000});
  const std::string document = text_of(*one.document);
  EXPECT_NE(document.find(R"("ticket_id" : "t")"), std::string::npos) << document;
  EXPECT_NE(document.find("value: too large for a document"), std::string::npos);
  EXPECT_EQ(document.find("xxx"), std::string::npos);
}

TEST(SinkDocument, MetadataThatTheMessageBroughtAlongIsTheDocumentsOwn) {
  const std::string value = R"({"ticket_id":7,"dlq_metadata":{"original_error":"x","error_type":"y","retry_count":3,)"
                            R"("last_failure_timestamp":1,"dlq_published_at":1234567890000}})";
  const std::string document = text_of(*life_of(life(1, value), "ticket_id", {}).document);
  EXPECT_EQ(times(document, "dlq_metadata"), 1U) << document;
  EXPECT_NE(document.find(R"("dlq_published_at" : 1234567890000)"), std::string::npos) << document;
  EXPECT_NE(document.find(R"("ticket_id" : 7)"), std::string::npos) << document;
  EXPECT_EQ(document.find("\"value\""), std::string::npos) << "nothing was changed that must be kept beside it";
  const SinkLetter other = life(1, R"({"ticket_id":"a","dlq_metadata":5})");
  const std::string foreign = text_of(*life_of(other, "ticket_id", {}).document);
  EXPECT_NE(foreign.find(R"("dlq_metadata_" : 5)"), std::string::npos) << foreign;
}

}  // namespace
}  // namespace bartleby::mongodb

#else

TEST(SinkDocument, All) { GTEST_SKIP() << "built without libmongoc: scripts/setup test"; }

#endif
