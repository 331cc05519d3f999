#include "office/suggestions.h"

#include <algorithm>
#include <array>
#include <map>

#include "model/issue.h"
#include "office/letters.h"
#include "office/sql.h"

namespace bartleby {
namespace {

struct Field {
  std::string_view name, about;
};
constexpr std::array<Field, 14> kFields = {{{"dlq:", "the dead letter topic"},
                                            {"worker:", "the worker that gave up"},
                                            {"group:", "its consumer group"},
                                            {"topic:", "where the message came from"},
                                            {"key:", "the message's key, whole"},
                                            {"error:", "the error's type"},
                                            {"reason:", "why it is a letter"},
                                            {"issue:", "letters with one fingerprint"},
                                            {"state:", "open, replaying, resolved, discarded, archived"},
                                            {"header.", "a header by name: header.tenant:acme"},
                                            {"since:", "died after: 24h, 30d or a time"},
                                            {"before:", "died before: 24h, 30d or a time"},
                                            {"replays:", "how often it was replayed: 0, >1"},
                                            {"text:", "words of error, key and headers"}}};

// Where the last term begins: after the last blank that is not in quotes.
std::size_t last_term(std::string_view query) {
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < query.size(); ++i) {
    if (quoted && query[i] == '\\') {
      ++i;
      continue;
    }
    if (query[i] == '"') quoted = !quoted;
    if (query[i] == ' ' && !quoted) begin = i + 1;
  }
  return begin;
}

std::string value_text(const std::string& value) {
  const auto plain = [](char c) { return c > ' ' && c != '"' && c != '\\'; };
  if (!value.empty() && std::ranges::all_of(value, plain)) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string letters_text(std::int64_t open) {
  return std::to_string(open) + (open == 1 ? " open letter" : " open letters");
}

class Suggesting {
 public:
  Suggesting(Connection& connection, std::string_view query)
      : connection_(connection), head_(query.substr(0, last_term(query))), term_(query.substr(head_.size())) {
    if (term_.starts_with('-')) head_ += '-', term_.remove_prefix(1);
  }

  Result<std::vector<Suggestion>> run() {
    const std::size_t colon = term_.find(':');
    if (colon == std::string_view::npos) {
      for (const Field& field : kFields)
        if (field.name.starts_with(term_)) add(std::string(field.name), std::string(field.about));
      return std::move(found_);
    }
    field_ = std::string(term_.substr(0, colon + 1));
    begun_ = std::string(term_.substr(colon + 1));
    if (begun_.starts_with('"')) begun_.erase(0, 1);
    if (begun_.ends_with('"')) begun_.pop_back();
    if (field_ == "dlq:" || field_ == "worker:" || field_ == "group:" || field_ == "topic:" || field_ == "reason:")
      BARTLEBY_TRY(of_shelves());
    if (field_ == "state:")
      for (const std::string_view state : kLetterStateNames) value(std::string(state), "");
    if (field_ == "error:") BARTLEBY_TRY(of_errors());
    if (field_ == "issue:") BARTLEBY_TRY(of_issues());
    if (field_ == "since:" || field_ == "before:")
      for (const char* span : {"15m", "1h", "24h", "7d", "30d"}) value(span, "ago");
    if (field_ == "replays:")
      for (const char* times : {"0", ">0", ">1"}) value(times, "");
    return std::move(found_);
  }

 private:
  void add(const std::string& term, std::string about) {
    if (found_.size() == kMaxSuggestions) return;
    found_.push_back({head_ + term, term, std::move(about)});
  }
  void value(const std::string& text, std::string about) {
    if (text.starts_with(begun_)) add(field_ + value_text(text), std::move(about));
  }

  // The fullest first.
  Result<void> of_shelves() {
    const auto shelves = counted_shelves(connection_);
    if (!shelves) return std::unexpected(shelves.error());
    std::map<std::string, std::int64_t> open;
    for (const CountedShelf& one : *shelves) {
      const ShelfLabel& label = one.shelf.label;
      const std::string word = field_ == "dlq:"      ? label.dlq
                               : field_ == "worker:" ? label.worker
                               : field_ == "group:"  ? label.group
                               : field_ == "topic:"  ? label.topic
                                                     : std::string(name(label.reason));
      if (!word.empty()) open[word] += one.letters[static_cast<std::size_t>(LetterState::kOpen)];
    }
    std::vector<std::pair<std::string, std::int64_t>> sorted(open.begin(), open.end());
    std::ranges::sort(sorted, {}, [](const auto& one) { return std::pair(-one.second, std::string_view(one.first)); });
    for (const auto& [word, letters] : sorted) value(word, letters_text(letters));
    return {};
  }

  Result<void> of_errors() {
    return sql::each(
        connection_,
        "SELECT error_type, sum(open) FROM issues WHERE error_type >= $1 AND error_type < $2 GROUP BY error_type"
        " ORDER BY error_type LIMIT $3",
        [&](Rows& row) { value(row.text(0), letters_text(row.integer(1))); }, begun_, begun_ + "\xf4\x8f\xbf\xbf",
        kMaxSuggestions);
  }

  Result<void> of_issues() {
    return sql::each(
        connection_, "SELECT id, title, open FROM issues ORDER BY last DESC LIMIT $1",
        [&](Rows& row) { value(row.text(0), row.text(1)); }, 10 * kMaxSuggestions);
  }

  Connection& connection_;
  std::string head_;
  std::string_view term_;
  std::string field_, begun_;
  std::vector<Suggestion> found_;
};

}  // namespace

Result<std::vector<Suggestion>> suggestions(Connection& connection, std::string_view query) {
  return Suggesting(connection, query).run();
}

}  // namespace bartleby
