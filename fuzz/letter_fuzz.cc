// Letters: no records crash the reader, and a letter that was read is written and read again as the same, in every
// dialect; what another program wrote is read or not, and what of it is read is written again.
#include <array>
#include <utility>

#include "codec/json_scan.h"
#include "codec/letter.h"
#include "codec/letter_foreign.h"
#include "fuzz_input.h"

namespace bartleby::fuzz {
namespace {

std::vector<LogRecord> as_read(const std::vector<Record>& written) {
  std::vector<LogRecord> records;
  for (const Record& out : written) records.push_back({Offset(), Timestamp(), out.key, out.value, out.headers});
  return records;
}

bool is_same_message(const LogRecord& a, const LogRecord& b) {
  return a.offset == b.offset && a.timestamp == b.timestamp && a.key == b.key && a.value == b.value &&
         a.headers == b.headers;
}

Letter rewritten(const Letter& letter, LetterForm form, std::size_t part_bytes,
                 LetterDialect dialect = LetterDialect::kRecord) {
  const LetterTarget target{"dlq", 3, part_bytes, dialect};
  const Result<Letter> again = join_letter(as_read(letter_records(letter.facts, letter.record, form, target)));
  require(again.has_value());
  require(again->id == letter.id);
  require(is_same_message(again->record, letter.record));
  LetterFacts a = again->facts;
  LetterFacts b = letter.facts;
  a.error = b.error = {};  // may have been cut
  require(a == b);
  return *again;
}

void check(const std::vector<LogRecord>& records, std::size_t part_bytes) {
  const Result<Letter> letter = join_letter(records);
  if (!letter) {
    require(!letter.error().message.empty());
    return;
  }
  // What a cut text was cut to is not cut again.
  const Letter once = rewritten(*letter, LetterForm::kWhole, part_bytes);
  require(rewritten(once, LetterForm::kWhole, part_bytes).facts == once.facts);
  rewritten(once, LetterForm::kCompressed, part_bytes);
  rewritten(once, LetterForm::kParts, part_bytes);
  for (const LetterDialect dialect : {LetterDialect::kEnvelope, LetterDialect::kDlqMetadata}) {
    rewritten(once, LetterForm::kWhole, part_bytes, dialect);
    rewritten(once, LetterForm::kParts, part_bytes, dialect);
  }
}

// Without headers of ours nobody can tell blanks around a JSON text, nor the text null from no value.
std::string trimmed(const Bytes& value) {
  if (!value || !is_json(*value)) return value.value_or("null");
  const std::size_t from = value->find_first_not_of(" \n\t\r");
  return value->substr(from, value->find_last_not_of(" \n\t\r") + 1 - from);
}

// Whatever is read of it is a message, and an envelope around it is read as the same one.
void check_foreign(const LogRecord& record) {
  const auto letter = foreign_letter(record);
  if (!letter) return;
  LetterFacts facts;
  facts.topic = "t";
  const LogRecord message{Offset(1), Timestamp(), letter->key, letter->value, {}};
  LogRecord again = as_read(letter_records(facts, message, LetterForm::kWhole,
                                           {"dlq", 3, 4096, LetterDialect::kEnvelope}, timestamp_ms(1)))[0];
  require(scan_object(*again.value, [](const JsonPlace&) {}).has_value());
  again.headers.clear();
  const auto same = foreign_letter(again);
  require(same.has_value());
  require(same->key == letter->key && trimmed(same->value) == trimmed(letter->value));
}

// A value of pieces that mean something here.
Bytes any_json(FuzzedDataProvider& in) {
  constexpr std::array<std::string_view, 24> kPieces = {"{",
                                                        "}",
                                                        "[",
                                                        "]",
                                                        ",",
                                                        ":",
                                                        "null",
                                                        "1",
                                                        "\"a\"",
                                                        "\"dlq_metadata\":",
                                                        "{\"error_type\":\"e\"}",
                                                        " ",
                                                        "\n",
                                                        "\"original_topic\":\"t\"",
                                                        "\"original_partition\":0",
                                                        "\"original_offset\":1",
                                                        "\"original_value\":",
                                                        "\"original_value_encoding\":\"base64\"",
                                                        "\"error_details\":{}",
                                                        "\"original_key\":",
                                                        "\"AA==\"",
                                                        "\"\\u00e4\"",
                                                        "\xff",
                                                        "{\"a\":1"};
  std::string text;
  for (int i = in.ConsumeIntegralInRange(0, 24); i > 0; --i)
    text += kPieces[in.ConsumeIntegralInRange<std::size_t>(0, kPieces.size() - 1)];
  return text;
}

LetterFacts any_facts(FuzzedDataProvider& in) {
  LetterFacts f;
  f.cluster = in.ConsumeRandomLengthString(20);
  f.topic = in.ConsumeRandomLengthString(249);
  f.partition = Partition(in.ConsumeIntegralInRange<std::int32_t>(0, INT32_MAX));
  f.offset = Offset(in.ConsumeIntegralInRange<std::int64_t>(0, INT64_MAX));
  f.timestamp = timestamp_ms(in.ConsumeIntegral<std::int64_t>());
  f.group = in.ConsumeRandomLengthString(2000);
  f.worker = in.ConsumeRandomLengthString(20);
  f.instance = in.ConsumeRandomLengthString(2000);
  f.lineage = in.ConsumeRandomLengthString(30);
  f.replays = in.ConsumeIntegral<std::uint32_t>();
  f.reason = static_cast<Reason>(in.ConsumeIntegralInRange<std::size_t>(0, kReasonNames.size() - 1));
  f.kind = static_cast<Kind>(in.ConsumeIntegralInRange<std::size_t>(0, kKinds - 1));
  f.attempts = in.ConsumeIntegral<std::uint32_t>();
  f.first_failure = timestamp_ms(in.ConsumeIntegral<std::int64_t>());
  f.last_failure = timestamp_ms(in.ConsumeIntegral<std::int64_t>());
  f.error = {in.ConsumeRandomLengthString(300), in.ConsumeRandomLengthString(2000), in.ConsumeRandomLengthString(2000)};
  return f;
}

LogRecord any_record(FuzzedDataProvider& in) {
  LogRecord record;
  record.key = maybe_text(in, 20);
  record.value = in.ConsumeBool() ? maybe_text(in, 2000) : any_json(in);
  for (int i = in.ConsumeIntegralInRange(0, 4); i > 0; --i) {
    std::string name = in.ConsumeRandomLengthString(24);
    record.headers.emplace_back(std::move(name), maybe_text(in, 20));
  }
  return record;
}

// One field of one record changed, a record lost, or one more.
void damage_one(FuzzedDataProvider& in, std::vector<LogRecord>& records) {
  if (records.empty()) return;
  LogRecord& record = records[in.ConsumeIntegralInRange<std::size_t>(0, records.size() - 1)];
  switch (in.ConsumeIntegralInRange(0, 5)) {
    case 0:
      std::swap(record, records.front());
      break;
    case 1:
      records.pop_back();
      break;
    case 2:
      records.push_back(LogRecord(record));
      break;
    case 3:
      if (record.value) damage(in, *record.value);
      break;
    case 4:
      record.value = maybe_text(in, 20);
      break;
    default:
      if (record.headers.empty()) break;
      auto& [name, value] = record.headers[in.ConsumeIntegralInRange<std::size_t>(0, record.headers.size() - 1)];
      if (in.ConsumeBool()) damage(in, name);
      if (value) damage(in, *value);
  }
}

}  // namespace
}  // namespace bartleby::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace bartleby;
  using namespace bartleby::fuzz;
  FuzzedDataProvider in(data, size);
  const auto dialect = static_cast<LetterDialect>(in.ConsumeIntegralInRange(0, 2));
  const LetterTarget target{"dlq", 3, in.ConsumeIntegralInRange<std::size_t>(16, 4096), dialect};
  std::vector<LogRecord> records;
  if (in.ConsumeIntegralInRange(0, 7) == 0) {
    for (int i = in.ConsumeIntegralInRange(0, 3); i > 0; --i) records.push_back(any_record(in));
  } else {
    const LetterFacts facts = any_facts(in);
    const auto form = static_cast<LetterForm>(in.ConsumeIntegralInRange(0, 3));
    records = as_read(letter_records(facts, any_record(in), form, target));
    require(join_letter(records).has_value());
    for (LogRecord one : records) {
      std::erase_if(one.headers, [](const auto& h) { return h.first == "bartleby-v"; });
      check_foreign(one);
    }
    for (int i = in.ConsumeIntegralInRange(0, 3); i > 0; --i) damage_one(in, records);
  }
  for (const LogRecord& one : records) check_foreign(one);
  check(records, target.part_bytes);
  return 0;
}
