// Letters as the API shows them.
#include "server/office_json.h"

#include <gtest/gtest.h>

#include "server/operation_json.h"

namespace bartleby {
namespace {

json::object shown(const StoredLetter& letter) {
  const Redaction redaction;
  const View view{.payload = true, .redaction = &redaction, .rule_of = [](const std::string&) { return DlqRule{}; }};
  return letter_json(letter, "", view).at("origin").as_object();
}

TEST(OfficeJson, TheOriginOfALetterThatCameBackFromAPrivateLaneIsWhereItFirstLay) {
  StoredLetter letter;
  letter.shelf.topic = "orders";
  letter.job = {Partition(1), Offset(5)};
  letter.origin = Place{Partition(1), Offset(2)};  // in the lane
  letter.replays = 1;
  EXPECT_EQ(shown(letter).at("topic").as_string(), "orders");
  EXPECT_EQ(shown(letter).at("partition").as_int64(), 1);
  EXPECT_EQ(shown(letter).at("offset").as_int64(), 5);
}

TEST(OfficeJson, AnOriginThatNobodyKnowsIsNull) {
  StoredLetter letter;
  letter.job = {Partition(1), Offset(5)};  // of the dlq
  EXPECT_TRUE(shown(letter).at("partition").is_null());
  EXPECT_TRUE(shown(letter).at("offset").is_null());
}

TEST(OfficeJson, WhatAPlanHadNoRoomForIsLeft) {
  Operation plan;
  plan.letters = 1000000;
  plan.report.excluded = {{"max replays", 30}, {"its edit does not apply", 5}};
  EXPECT_EQ(letters_left(1000135, plan), 100);
  EXPECT_EQ(letters_left(1000035, plan), 0);
  EXPECT_EQ(letters_left(1000000, plan), 0) << "some came since they were counted";
}

}  // namespace
}  // namespace bartleby
