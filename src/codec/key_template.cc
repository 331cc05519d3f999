#include "codec/key_template.h"

namespace bartleby {
namespace {

constexpr std::string_view kHeader = "header:";
constexpr std::size_t kMaxParts = 32;

// RFC 6901: `~` is followed by 0 or 1.
bool is_escaped_well(std::string_view pointer) {
  for (std::size_t i = 0; i < pointer.size(); ++i)
    if (pointer[i] == '~' && (i + 1 == pointer.size() || (pointer[i + 1] != '0' && pointer[i + 1] != '1')))
      return false;
  return true;
}

}  // namespace

std::expected<KeyTemplate, std::string> KeyTemplate::parse(std::string_view text) {
  KeyTemplate out;
  bool has_place = false;
  while (!text.empty()) {
    if (out.parts_.size() == kMaxParts) return std::unexpected("has more than 32 parts");
    const std::size_t open = text.find_first_of("{}");
    if (open != 0) {
      out.parts_.push_back({Part::What::kText, std::string(text.substr(0, open))});
      text.remove_prefix(std::min(open, text.size()));
      continue;
    }
    const std::size_t close = text.find('}');
    if (text.front() == '}' || close == std::string_view::npos)
      return std::unexpected(text.front() == '}' ? "has a } without {" : "has a { without }");
    const std::string_view inside = text.substr(1, close - 1);
    text.remove_prefix(close + 1);
    has_place = true;
    if (inside == "key") {
      out.parts_.push_back({Part::What::kKey});
    } else if (inside.starts_with('/') && is_escaped_well(inside)) {
      out.parts_.push_back({Part::What::kJson, std::string(inside)});
    } else if (inside.starts_with(kHeader) && inside.size() > kHeader.size()) {
      out.parts_.push_back({Part::What::kHeader, std::string(inside.substr(kHeader.size()))});
    } else {
      return std::unexpected("has {" + std::string(inside) + "}; there are {/json/pointer}, {header:NAME} and {key}");
    }
  }
  if (!has_place)
    return std::unexpected("is the same for all messages; put {/json/pointer}, {header:NAME} or {key} in");
  return out;
}

std::optional<std::string> KeyTemplate::fill(const LogRecord& record, RecordFields& fields) const {
  fields.of(record);
  std::string out;
  for (const Part& part : parts_) {
    std::optional<std::string_view> text = part.text;
    if (part.what == Part::What::kJson) text = fields.json(part.text);
    if (part.what == Part::What::kHeader) text = fields.header(part.text);
    if (part.what == Part::What::kKey) text = record.key ? std::optional<std::string_view>(*record.key) : std::nullopt;
    if (!text || text->empty() || out.size() + text->size() > kMaxFilledKey) return std::nullopt;
    out += *text;
  }
  return out;
}

}  // namespace bartleby
