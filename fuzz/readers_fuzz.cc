// The small readers of what others write: none crashes, and what one of them takes it would take again as we write it.
#include "adapters/handler/http/push_answer.h"
#include "codec/archive_line.h"
#include "codec/duration_text.h"
#include "codec/emit.h"
#include "codec/header_bytes.h"
#include "codec/heartbeat.h"
#include "codec/match.h"
#include "codec/network.h"
#include "codec/percent.h"
#include "codec/problem.h"
#include "codec/replay_header.h"
#include "codec/time_text.h"
#include "codec/zstd_bytes.h"
#include "fuzz_input.h"

namespace {

using namespace bartleby;
using namespace bartleby::fuzz;

void heartbeat(const std::string& text) {
  const auto facts = heartbeat_from_text(text);
  if (facts) require(heartbeat_from_text(heartbeat_text(*facts)) == facts);
}

void headers(const std::string& text) {
  const auto read = decode_headers(text);
  if (!read || read->empty()) return;  // no headers are written as nothing at all
  const auto written = encode_headers(*read);
  require(written && decode_headers(*written) == read);
}

void replay(const std::string& text) {
  LogRecord record;
  record.value = "v";
  record.headers = {{std::string(kReplayHeader), text}};
  const std::vector<OfficeKey> keys = {{"k1", std::string(kMinOfficeSecret, 's')}};
  require(!replay_mark(record, keys, "t"));  // nobody guesses a signature
  const auto outcome = outcome_from(text);
  if (outcome) require(outcome_from(outcome_value(*outcome)) == *outcome);
}

void address(const std::string& text) {
  const auto ip = parse_ip(text);
  if (ip) require(parse_ip(ip->text()) == ip);
  const auto network = parse_network(text);
  if (network) require(network->contains(network->base));
  const std::vector<std::string_view> forwarded = {text, text};
  static_cast<void>(client_address("127.0.0.1", forwarded, {*parse_network("127.0.0.0/8")}));
}

void times(const std::string& text) {
  const auto time = time_from_text(text);
  if (time) require(time_from_text(time_text(*time)) == time);
  const auto duration = duration_from_text(text);
  if (duration) require(duration_from_text(duration_text(*duration)) == duration);
  const auto after = retry_after(text, timestamp_ms(1'700'000'000'000));
  if (after) require(*after >= Duration(0) && *after <= std::chrono::hours(24 * 366));
}

void match(const std::string& text) {
  LogRecord record;
  record.value = text;
  Matcher matcher;
  static_cast<void>(matcher.matches({.name = "/a/0/b", .in = {"x"}}, record));
}

void answers(const std::string& text) {
  const auto records = emit_from_json(text);
  if (records) require(records->size() <= kMaxEmitRecords);
  static_cast<void>(error_from_problem(text));
  static_cast<void>(percent_decoded(text, true));
}

void archives(const std::string& text) {
  static_cast<void>(archived_letter(text));
  const auto whole = zstd_decompressed(text, 1 << 16);
  if (whole) require(whole->size() <= 1 << 16);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr void (*kReaders[])(const std::string&) = {heartbeat, headers, replay,  address,
                                                      times,     match,   answers, archives};
  if (size == 0) return 0;
  kReaders[data[0] % std::size(kReaders)](std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
