#include "office/query_sql.h"

#include <algorithm>

#include "base/hash.h"
#include "model/failure.h"
#include "model/stored_letter.h"

namespace bartleby {
namespace {

constexpr std::array<std::string_view, 5> kSigns = {"=", ">", ">=", "<", "<="};

bool is_of_shelf(QueryField f) {
  return f == QueryField::kDlq || f == QueryField::kWorker || f == QueryField::kGroup || f == QueryField::kTopic ||
         f == QueryField::kReason;
}

bool holds(const QueryTerm& term, const ShelfLabel& label) {
  switch (term.field) {
    case QueryField::kDlq:
      return label.dlq == term.text;
    case QueryField::kWorker:
      return label.worker == term.text;
    case QueryField::kGroup:
      return label.group == term.text;
    case QueryField::kTopic:
      return label.topic == term.text;
    default:
      return name(label.reason) == term.text;
  }
}

std::string list_of(const std::vector<std::int64_t>& numbers) {
  std::string list = "(";
  for (const std::int64_t n : numbers) list += (list.size() == 1 ? "" : ", ") + std::to_string(n);
  return list + ")";
}

class Builder {
 public:
  Builder(const Query& query, const QueryFacts& facts, const Dialect& dialect)
      : query_(query), facts_(facts), dialect_(dialect) {}

  LetterSql build(const std::optional<LetterCursor>& after, std::size_t limit) {
    find_states();
    find_shelves();
    for (const QueryTerm& term : query_.terms) compare(term);
    if (!phrases_.empty()) return text_run(after, limit);
    choose_runs();
    if (states_.empty() || runs_.empty()) sql_.nothing = true;
    sql_.exact = exact();
    if (after)
      conditions_ +=
          " AND (l.died_at, l.seq) < (" + std::to_string(ms(after->died)) + ", " + std::to_string(after->seq) + ")";
    sql_.runs = std::move(runs_);
    sql_.conditions = std::move(conditions_);
    sql_.limit = limit;
    return std::move(sql_);
  }

 private:
  std::string parameter(SqlParameter value) {
    sql_.parameters.push_back(std::move(value));
    return "$" + std::to_string(sql_.parameters.size());
  }

  void find_states() {
    for (std::size_t s = 0; s < kLetterStates; ++s) {
      const bool all = std::ranges::all_of(query_.terms, [&](const QueryTerm& t) {
        return t.field != QueryField::kState || (t.text == kLetterStateNames[s]) != t.negated;
      });
      if (all) states_.push_back(s);
    }
  }

  void find_shelves() {
    for (const QueryTerm& t : query_.terms) by_shelf_ |= is_of_shelf(t.field);
    for (const CountedShelf& one : facts_.shelves) {
      const bool all = std::ranges::all_of(query_.terms, [&](const QueryTerm& t) {
        return !is_of_shelf(t.field) || holds(t, one.shelf.label) != t.negated;
      });
      if (all) shelves_.push_back(&one);
    }
  }

  // What is compared letter by letter, on whatever run is walked.
  void compare(const QueryTerm& t) {
    const std::string no = t.negated ? "NOT " : "";
    const auto time = [&] { return std::to_string(ms(t.ago ? facts_.now - *t.ago : *t.time)); };
    switch (t.field) {
      case QueryField::kKey: {
        const std::string shown = parameter(SqlBytes{t.text.substr(0, kShownKey)});
        const std::string is = "l.key_hash = " + hash_text(t.text) + " AND l.key = " + shown;
        if (t.negated)
          conditions_ += " AND (l.key_hash IS NULL OR NOT (" + is + "))";
        else if (key_run_)
          conditions_ += " AND " + is;
        else
          key_run_ = is;
        break;
      }
      case QueryField::kIssue:
      case QueryField::kError: {
        const auto found = facts_.issues.find({t.field, t.text});
        const std::vector<std::int64_t> issues =
            found == facts_.issues.end() ? std::vector<std::int64_t>() : found->second;
        // Where a type has more issues than were looked up, they do not tell its letters.
        const bool all = t.field == QueryField::kIssue || issues.size() < kMaxIssuesOfType;
        conditions_ += " AND " + no + (all ? "l.issue IN " + list_of(issues) : "l.error_type = " + parameter(t.text));
        if (!t.negated && all && (!issues_ || issues.size() < issues_->size())) issues_ = issues;
        break;
      }
      case QueryField::kSince:
        conditions_ += " AND l.died_at >= " + time();
        break;
      case QueryField::kBefore:
        conditions_ += " AND l.died_at < " + time();
        break;
      case QueryField::kReplays:
        conditions_ += " AND " + no + "l.replays " + std::string(kSigns[static_cast<std::size_t>(t.compare)]) + " " +
                       std::to_string(t.number);
        if (!t.negated && (t.compare == Compare::kMore || (t.number > 0 && t.compare <= Compare::kAtLeast)))
          conditions_ += " AND l.replays > 0", replayed_ = true;
        break;
      case QueryField::kHeader:
        phrases_.emplace_back(Dialect::TextColumn::kHeaders, t.header + " " + t.text);
        sql_.headers.emplace_back(t.header, t.text);
        break;
      case QueryField::kText:
        phrases_.emplace_back(Dialect::TextColumn::kAll, t.text);
        break;
      default:
        break;  // states and shelves
    }
  }

  static std::string hash_text(std::string_view key) { return std::to_string(static_cast<std::int64_t>(hash64(key))); }

  std::string state_list() const { return list_of(std::vector<std::int64_t>(states_.begin(), states_.end())); }

  std::string shelf_list() const {
    std::vector<std::int64_t> ids;
    for (const CountedShelf* one : shelves_) ids.push_back(one->shelf.id);
    return list_of(ids);
  }

  void limit_to_shelves_and_states() {
    if (by_shelf_) conditions_ += " AND l.shelf IN " + shelf_list();
    if (states_.size() < kLetterStates) conditions_ += " AND l.state IN " + state_list();
  }

  // The narrowest index first.
  void choose_runs() {
    if (key_run_) {
      runs_ = {*key_run_};
      return limit_to_shelves_and_states();
    }
    if (issues_) {
      for (const std::int64_t issue : *issues_)
        for (const std::size_t s : states_)
          runs_.push_back("l.issue = " + std::to_string(issue) + " AND l.state = " + std::to_string(s));
      if (by_shelf_) conditions_ += " AND l.shelf IN " + shelf_list();
      return;
    }
    if (replayed_) {
      runs_ = {"l.replays > 0"};
      return limit_to_shelves_and_states();
    }
    if (by_shelf_) {
      for (const CountedShelf* one : shelves_)
        for (const std::size_t s : states_)
          if (one->letters[s] > 0)
            runs_.push_back("l.shelf = " + std::to_string(one->shelf.id) + " AND l.state = " + std::to_string(s));
      return;
    }
    for (const std::size_t s : states_) runs_.push_back("l.state = " + std::to_string(s));
  }

  // Counters know of shelves and states alone.
  std::optional<std::int64_t> exact() const {
    const bool counted = std::ranges::all_of(
        query_.terms, [](const QueryTerm& t) { return is_of_shelf(t.field) || t.field == QueryField::kState; });
    if (!counted) return sql_.nothing ? std::optional<std::int64_t>(0) : std::nullopt;
    std::int64_t sum = 0;
    for (const CountedShelf* one : shelves_)
      for (const std::size_t s : states_) sum += one->letters[s];
    return sum;
  }

  LetterSql text_run(const std::optional<LetterCursor>& after, std::size_t limit) {
    if (key_run_) conditions_ += " AND " + *key_run_;
    limit_to_shelves_and_states();
    sql_.by_text = true;
    sql_.nothing = states_.empty() || (by_shelf_ && shelves_.empty());
    parameter(dialect_.text_query(phrases_));
    // By the place in the full-text index, not by the letter's number, which is the same: else all matches are sorted.
    const std::string place(dialect_.text_place());
    if (after) conditions_ += " AND " + place + " < " + std::to_string(after->seq);
    sql_.by_words = "SELECT l.seq, l.died_at FROM letters l " + std::string(dialect_.text_join()) + " WHERE " +
                    dialect_.text_condition(static_cast<int>(sql_.parameters.size())) + conditions_ + " ORDER BY " +
                    place + " DESC LIMIT " + std::to_string(limit);
    return std::move(sql_);
  }

  const Query& query_;
  const QueryFacts& facts_;
  const Dialect& dialect_;
  LetterSql sql_;
  std::vector<std::size_t> states_;
  std::vector<const CountedShelf*> shelves_;
  bool by_shelf_ = false;
  bool replayed_ = false;
  std::optional<std::vector<std::int64_t>> issues_;
  std::optional<std::string> key_run_;
  std::vector<std::pair<Dialect::TextColumn, std::string>> phrases_;
  std::string conditions_;
  std::vector<std::string> runs_;
};

}  // namespace

std::string LetterSql::text(std::size_t statement, const std::optional<LetterCursor>& above) const {
  if (by_text) return by_words;
  const std::string rows = std::to_string(limit);
  std::string more = conditions;
  if (above)
    more += " AND (l.died_at, l.seq) > (" + std::to_string(ms(above->died)) + ", " + std::to_string(above->seq) + ")";
  std::string sql;
  for (std::size_t i = statement * kMaxRuns; i < std::min((statement + 1) * kMaxRuns, runs.size()); ++i) {
    if (!sql.empty()) sql += " UNION ALL ";
    sql += "SELECT seq, died_at FROM (SELECT l.seq, l.died_at FROM letters l WHERE " + runs[i] + more +
           " ORDER BY l.died_at DESC, l.seq DESC LIMIT " + rows + ") AS run";
  }
  return sql + " ORDER BY died_at DESC, seq DESC LIMIT " + rows;
}

LetterSql letter_sql(const Query& query, const QueryFacts& facts, const Dialect& dialect,
                     const std::optional<LetterCursor>& after, std::size_t limit) {
  return Builder(query, facts, dialect).build(after, limit);
}

}  // namespace bartleby
