#include "codec/record_field.h"

#include <simdjson.h>

#include <algorithm>
#include <cstring>

namespace bartleby {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

}  // namespace

struct RecordFields::Reader {
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  std::string padded;
  const LogRecord* record = nullptr;
  enum class State : std::uint8_t { kUnread, kJson, kNoJson } state = State::kUnread;

  // Parses once per record, however many fields are asked for.
  bool read() {
    if (state != State::kUnread) return state == State::kJson;
    state = State::kNoJson;
    if (!record->value) return false;
    const std::string_view value = *record->value;
    padded.resize(value.size() + simdjson::SIMDJSON_PADDING);
    std::memcpy(padded.data(), value.data(), value.size());
    std::memset(padded.data() + value.size(), 0, simdjson::SIMDJSON_PADDING);
    const simdjson::padded_string_view view(padded.data(), value.size(), padded.size());
    // A document that is one string or number has no fields.
    bool scalar = true;
    const bool good = parser.iterate(view).get(document) == simdjson::SUCCESS &&
                      document.is_scalar().get(scalar) == simdjson::SUCCESS && !scalar;
    if (good) state = State::kJson;
    return good;
  }

  std::optional<std::string_view> text(const std::string& pointer) {
    simdjson::ondemand::value field;
    if (document.at_pointer(pointer).get(field) != simdjson::SUCCESS) return std::nullopt;
    simdjson::ondemand::json_type type{};
    if (field.type().get(type) != simdjson::SUCCESS) return std::nullopt;
    switch (type) {
      case simdjson::ondemand::json_type::string: {
        std::string_view text;
        if (field.get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
        return text;
      }
      case simdjson::ondemand::json_type::number:
        return trimmed(field.raw_json_token());
      case simdjson::ondemand::json_type::boolean: {
        bool yes = false;
        if (field.get_bool().get(yes) != simdjson::SUCCESS) return std::nullopt;
        return yes ? "true" : "false";
      }
      default:
        return std::nullopt;
    }
  }
};

RecordFields::RecordFields() : reader_(std::make_unique<Reader>()) {}
RecordFields::~RecordFields() = default;
RecordFields::RecordFields(RecordFields&&) noexcept = default;
RecordFields& RecordFields::operator=(RecordFields&&) noexcept = default;

void RecordFields::of(const LogRecord& record) {
  reader_->record = &record;
  reader_->state = Reader::State::kUnread;
}

std::optional<std::string_view> RecordFields::json(const std::string& pointer) {
  return reader_->read() ? reader_->text(pointer) : std::nullopt;
}

std::optional<std::string_view> RecordFields::header(const std::string& name) const {
  const Headers& all = reader_->record->headers;
  const auto found = std::ranges::find(all, name, &Headers::value_type::first);
  if (found == all.end() || !found->second) return std::nullopt;
  return *found->second;
}

}  // namespace bartleby
