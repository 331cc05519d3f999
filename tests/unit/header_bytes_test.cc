#include "codec/header_bytes.h"

#include <gtest/gtest.h>

namespace bartleby {
namespace {

TEST(HeaderBytes, ComeBackInOrderWithNullAndEmptyApart) {
  const Headers headers = {{"b", "2"}, {"a", std::string(300, '\0')}, {"b", std::nullopt}, {"", ""}, {"b", "2"}};
  EXPECT_EQ(decode_headers(*encode_headers(headers)), headers);
  EXPECT_EQ(encode_headers({}), std::nullopt);
}

TEST(HeaderBytes, DamagedOnesAreNotRead) {
  const std::string whole = *encode_headers({{"name", "value"}, {"x", "y"}});
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const bool between_two = size == 11;
    EXPECT_EQ(decode_headers(whole.substr(0, size)).has_value(), between_two) << size;
  }
  EXPECT_EQ(decode_headers(std::string(20, '\xff')), std::nullopt);
}

}  // namespace
}  // namespace bartleby
