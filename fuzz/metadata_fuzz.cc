// Commit metadata: no text crashes the decoder, and a text that is ours has exactly one spelling.
#include <algorithm>

#include "base/hash.h"
#include "codec/base64.h"
#include "codec/metadata.h"
#include "fuzz_input.h"

namespace bartleby::fuzz {
namespace {

void check(std::string_view text, Offset committed) {
  const DecodedMetadata decoded = decode_metadata(text, committed);
  if (decoded.origin != MetadataOrigin::kOurs) {
    require(decoded.metadata == CommitMetadata{});
    return;
  }
  require(encode_metadata(decoded.metadata, committed, text.size()) == text);
  MetadataBudget budget(decoded.metadata, committed, text.size());
  for (const Head& head : decoded.metadata.heads) require(budget.add(head));
  require(budget.characters() == text.size());
}

// Any payload at all, with the checksum that it should have.
std::string sealed(std::string payload, Offset committed) {
  const std::uint64_t sum = combine(hash64(payload), static_cast<std::uint64_t>(committed.v)) >> 32;
  for (int i = 0; i < 4; ++i) payload.push_back(static_cast<char>(sum >> (8 * i)));
  std::string text = "b1.";
  append_base64(text, payload, Base64::kBare);
  return text;
}

std::string written(FuzzedDataProvider& in, Offset committed) {
  CommitMetadata m;
  m.writer = in.ConsumeRandomLengthString(kMaxWriterId);
  m.serial = WriteSerial(any_number(in));
  m.unclean = in.ConsumeIntegral<std::uint32_t>();
  if (in.ConsumeBool()) m.check = JournalCheck{any_number(in), any_number(in)};
  if (in.ConsumeBool()) m.log = any_number(in);
  m.counters = {any_number(in), any_number(in), any_number(in)};
  Offset at = committed;
  for (int i = in.ConsumeIntegralInRange(0, 64); i > 0; --i) {
    at = Offset(in.ConsumeIntegralInRange(at.v, INT64_MAX - 1));
    m.heads.push_back({at, std::nullopt});
    if (in.ConsumeBool()) m.heads.back().lane = Lane(in.ConsumeIntegral<std::uint32_t>());
  }
  m.high = Offset(in.ConsumeIntegralInRange(m.heads.empty() ? committed.v : at.v + 1, INT64_MAX));
  std::string text = encode_metadata(m, committed);
  require(decode_metadata(text, committed).metadata == m);
  return text;
}

}  // namespace
}  // namespace bartleby::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bartleby;
  using namespace bartleby::fuzz;
  FuzzedDataProvider in(data, size);
  const Offset committed(std::min(static_cast<std::int64_t>(any_number(in) >> 1), INT64_MAX - 1));
  switch (in.ConsumeIntegralInRange(0, 2)) {
    case 0:
      check(in.ConsumeRemainingBytesAsString(), committed);
      break;
    case 1:
      check(sealed(in.ConsumeRemainingBytesAsString(), committed), committed);
      break;
    default: {
      std::string text = written(in, committed);
      damage(in, text);
      check(text, committed);
    }
  }
  return 0;
}
