#include "codec/query.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "codec/time_text.h"
#include "codec/utf8.h"
#include "model/failure.h"
#include "model/letter_state.h"

namespace bartleby {
namespace {

constexpr std::array<std::string_view, 14> kFieldNames = {"dlq",   "worker", "group",   "topic", "key",
                                                          "error", "reason", "issue",   "state", "header.",
                                                          "since", "before", "replays", "text"};
constexpr std::string_view kFieldList =
    "dlq, worker, group, topic, key, error, reason, issue, state, header.NAME, since, before, replays, text";
constexpr std::array<std::string_view, 5> kCompareNames = {"", ">", ">=", "<", "<="};

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
constexpr std::array<Unit, 5> kUnits = {{{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}}};
constexpr std::int64_t kMaxSpan = std::int64_t{36500} * 86400000;  // a hundred years

std::string_view name(QueryField f) { return kFieldNames[static_cast<std::size_t>(f)]; }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::expected<Query, QueryError> parse() {
    if (text_.size() > kMaxQuery) return error(kMaxQuery, "a query has at most 2000 bytes");
    if (!is_utf8(text_)) return error(0, "a query is UTF-8 text");
    if (const std::size_t nul = text_.find('\0'); nul != std::string_view::npos)
      return error(nul, "a query has no null character");
    Query query;
    for (;;) {
      while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
      if (at_ == text_.size()) return query;
      if (query.terms.size() == kMaxQueryTerms) return error(at_, "a query has at most 32 terms");
      auto term = next_term();
      if (!term) return std::unexpected(term.error());
      query.terms.push_back(std::move(*term));
    }
  }

 private:
  using Term = std::expected<QueryTerm, QueryError>;

  // Points at a character, not at a byte.
  std::unexpected<QueryError> error(std::size_t at, std::string message) const {
    const auto before = text_.substr(0, at);
    const auto position =
        std::ranges::count_if(before, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
    return std::unexpected(QueryError{static_cast<std::size_t>(position), std::move(message)});
  }

  Term next_term() {
    QueryTerm term;
    const std::size_t begin = at_;
    if (text_[at_] == '-') {
      term.negated = true;
      ++at_;
    }
    const std::size_t field_at = at_;
    while (at_ < text_.size() && !is_blank(text_[at_]) && text_[at_] != ':' && text_[at_] != '"') ++at_;
    const bool has_field = at_ < text_.size() && text_[at_] == ':';
    if (has_field) {
      const std::string_view field = text_.substr(field_at, at_ - field_at);
      if (!set_field(term, field)) return unknown_field(field_at, field);
      ++at_;
    } else {
      at_ = field_at;
    }
    const std::size_t value_at = at_;
    auto value = next_value();
    if (!value) return std::unexpected(value.error());
    if (value->empty()) return error(value_at, has_field ? "a value is missing after the colon" : "a word is missing");
    return with_value(std::move(term), std::move(*value), begin, value_at);
  }

  static bool set_field(QueryTerm& term, std::string_view field) {
    constexpr std::string_view kHeader = kFieldNames[static_cast<std::size_t>(QueryField::kHeader)];
    if (field.starts_with(kHeader) && field.size() > kHeader.size()) {
      term.field = QueryField::kHeader;
      term.header = field.substr(kHeader.size());
      return true;
    }
    const auto found = std::ranges::find(kFieldNames, field);
    if (found == kFieldNames.end() || field == kHeader) return false;
    term.field = static_cast<QueryField>(found - kFieldNames.begin());
    return true;
  }

  Term unknown_field(std::size_t at, std::string_view field) const {
    if (field.empty()) return error(at, "a field is missing before the colon");
    return error(at, "no field \"" + std::string(field) + "\"; there are " + std::string(kFieldList) +
                         "; text with a colon stands in quotes");
  }

  std::expected<std::string, QueryError> next_value() {
    std::string value;
    if (at_ == text_.size() || text_[at_] != '"') {
      const std::size_t begin = at_;
      while (at_ < text_.size() && !is_blank(text_[at_])) ++at_;
      return std::string(text_.substr(begin, at_ - begin));
    }
    const std::size_t quote = at_++;
    for (;;) {
      if (at_ == text_.size()) return error(quote, "this quote is not closed");
      const char c = text_[at_++];
      if (c == '"') break;
      if (c == '\\') {
        if (at_ == text_.size() || (text_[at_] != '"' && text_[at_] != '\\'))
          return error(at_ - 1, "after \\ comes \" or \\");
        value += text_[at_++];
      } else {
        value += c;
      }
    }
    if (at_ < text_.size() && !is_blank(text_[at_])) return error(at_, "a blank is missing after the quote");
    return value;
  }

  Term with_value(QueryTerm term, std::string value, std::size_t begin, std::size_t at) const {
    const bool spans = term.field == QueryField::kSince || term.field == QueryField::kBefore;
    const bool words = term.field == QueryField::kText || term.field == QueryField::kHeader;
    if (term.negated && (spans || words)) return error(begin, "this field cannot be negated");
    switch (term.field) {
      case QueryField::kSince:
      case QueryField::kBefore:
        term.ago = span_of(value);
        if (!term.ago) term.time = time_of(value);
        if (!term.ago && !term.time) return error(at, "neither a span (10s, 5m, 24h, 30d) nor a time (2025-01-15)");
        return term;
      case QueryField::kReplays:
        if (!set_number(term, value)) return error(at, "not a number, or >, >=, <, <= and a number");
        return term;
      case QueryField::kState:
        if (!letter_state_named(value))
          return error(at, "no state \"" + value + "\"; there are open, replaying, resolved, discarded, archived");
        break;
      case QueryField::kReason:
        std::ranges::transform(value, value.begin(),
                               [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
        if (!reason_named(value)) return error(at, "no reason \"" + value + "\"; one is EXHAUSTED");
        break;
      case QueryField::kIssue:
        if (!value.starts_with("iss_")) return error(at, "an issue's id begins with iss_");
        break;
      default:
        break;
    }
    term.text = std::move(value);
    return term;
  }

  static std::optional<std::int64_t> whole_number(std::string_view digits) {
    std::int64_t n = 0;
    const auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (failed != std::errc{} || stop != digits.data() + digits.size() || n < 0) return std::nullopt;
    return n;
  }

  static std::optional<Duration> span_of(std::string_view value) {
    const std::size_t digits = std::min(value.find_first_not_of("0123456789"), value.size());
    const auto n = whole_number(value.substr(0, digits));
    for (const Unit& unit : kUnits)
      if (n && value.substr(digits) == unit.name && *n <= kMaxSpan / unit.ms) return Duration(*n * unit.ms);
    return std::nullopt;
  }

  static std::optional<Timestamp> time_of(const std::string& value) {
    if (value.size() == 10) return time_from_text(value + "T00:00:00.000Z");
    if (value.size() == 20) return time_from_text(value.substr(0, 19) + ".000" + value.substr(19));
    return value.size() == 24 ? time_from_text(value) : std::nullopt;
  }

  static bool set_number(QueryTerm& term, std::string_view value) {
    // The longer ones first: ">" is how ">=" begins.
    for (const Compare c : {Compare::kAtLeast, Compare::kAtMost, Compare::kMore, Compare::kLess}) {
      const std::string_view sign = kCompareNames[static_cast<std::size_t>(c)];
      if (!value.starts_with(sign)) continue;
      term.compare = c;
      value.remove_prefix(sign.size());
      break;
    }
    const auto n = whole_number(value);
    if (!n || *n > INT32_MAX) return false;
    term.number = *n;
    return true;
  }

  const std::string_view text_;
  std::size_t at_ = 0;
};

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

}  // namespace

std::expected<Query, QueryError> parse_query(std::string_view text) { return Parser(text).parse(); }

bool looks_into_messages(const Query& query) {
  return std::ranges::any_of(query.terms, [](const QueryTerm& term) {
    return term.field == QueryField::kKey || term.field == QueryField::kHeader || term.field == QueryField::kText;
  });
}

std::string query_text(const Query& query) {
  std::string out;
  for (const QueryTerm& term : query.terms) {
    if (!out.empty()) out += ' ';
    if (term.negated) out += '-';
    out += name(term.field);
    out += term.header;
    out += ':';
    if (term.ago)
      out += std::to_string(term.ago->count()) + "ms";
    else if (term.time)
      out += time_text(*term.time);
    else if (term.field == QueryField::kReplays)
      out += std::string(kCompareNames[static_cast<std::size_t>(term.compare)]) + std::to_string(term.number);
    else
      append_quoted(out, term.text);
  }
  return out;
}

}  // namespace bartleby
