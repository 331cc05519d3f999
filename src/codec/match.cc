#include "codec/match.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace bartleby {
namespace {

bool any_of(const Match& match, std::string_view text) {
  return std::ranges::any_of(match.in, [&](const std::string& wanted) { return wanted == text; });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

}  // namespace

struct Matcher::Reader {
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  std::string padded;
  enum class State : std::uint8_t { kUnread, kJson, kNoJson } state = State::kUnread;

  // Parses once per record, however many matches look at it.
  bool read(std::string_view value) {
    if (state != State::kUnread) return state == State::kJson;
    padded.resize(value.size() + simdjson::SIMDJSON_PADDING);
    std::memcpy(padded.data(), value.data(), value.size());
    std::memset(padded.data() + value.size(), 0, simdjson::SIMDJSON_PADDING);
    const simdjson::padded_string_view view(padded.data(), value.size(), padded.size());
    // A document that is one string or number has no fields.
    bool scalar = true;
    const bool good = parser.iterate(view).get(document) == simdjson::SUCCESS &&
                      document.is_scalar().get(scalar) == simdjson::SUCCESS && !scalar;
    state = good ? State::kJson : State::kNoJson;
    return good;
  }

  bool holds(const Match& match, const LogRecord& record) {
    if (match.field == Match::Field::kJson) return record.value && read(*record.value) && equals(match);
    const auto header = std::ranges::find(record.headers, match.name, &Headers::value_type::first);
    return header != record.headers.end() && header->second && any_of(match, *header->second);
  }

  bool equals(const Match& match) {
    simdjson::ondemand::value field;
    if (document.at_pointer(match.name).get(field) != simdjson::SUCCESS) return false;
    simdjson::ondemand::json_type type{};
    if (field.type().get(type) != simdjson::SUCCESS) return false;
    switch (type) {
      case simdjson::ondemand::json_type::string: {
        std::string_view text;
        return field.get_string().get(text) == simdjson::SUCCESS && any_of(match, text);
      }
      case simdjson::ondemand::json_type::number:
        return any_of(match, trimmed(field.raw_json_token()));
      case simdjson::ondemand::json_type::boolean: {
        bool yes = false;
        return field.get_bool().get(yes) == simdjson::SUCCESS && any_of(match, yes ? "true" : "false");
      }
      default:
        return false;
    }
  }
};

Matcher::Matcher() : reader_(std::make_unique<Reader>()) {}
Matcher::~Matcher() = default;
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;

bool Matcher::matches(const Match& match, const LogRecord& record) {
  reader_->state = Reader::State::kUnread;
  return reader_->holds(match, record);
}

std::optional<std::size_t> Matcher::first(const std::vector<std::optional<Match>>& cases, const LogRecord& record) {
  reader_->state = Reader::State::kUnread;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (!cases[i] || reader_->holds(*cases[i], record)) return i;
  return std::nullopt;
}

}  // namespace bartleby
