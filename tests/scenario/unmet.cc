// What was expected, held against what happened.
#include <algorithm>

#include "base/glob.h"
#include "codec/time_text.h"
#include "tests/scenario/play.h"

namespace bartleby::scenario {
namespace {

// The clock is wound by hand, but what is written down takes its time: the linger of a write, and the played network.
constexpr Duration kLate{200};

bool about(Duration wanted, Duration got) { return got >= wanted && got <= wanted + kLate; }

bool about(const std::vector<Duration>& wanted, const std::vector<Duration>& got) {
  return std::ranges::equal(wanted, got, [](Duration a, Duration b) { return about(a, b); });
}

std::string text(const std::vector<Duration>& all) {
  std::string out;
  for (const Duration d : all) out += (out.empty() ? "" : ", ") + duration_text(d);
  return out.empty() ? "none" : out;
}

class Judge {
 public:
  Judge(const Scenario& scenario, const Played& played) : scenario_(scenario), played_(played) {}

  std::string unmet() {
    if (!played_.broken.empty()) out_ += scenario_.file + ": " + played_.broken + "\n";
    for (const Expectation& e : scenario_.expectations) {
      line_ = e.line;
      std::visit([this](const auto& what) { judge(what); }, e.what);
    }
    return out_;
  }

 private:
  void say(const std::string& what) { out_ += scenario_.file + ":" + std::to_string(line_) + ": " + what + "\n"; }

  std::vector<const Attempt*> attempts_of(const std::string& name) const {
    std::vector<const Attempt*> all;
    for (const Attempt& a : played_.attempts)
      if (a.name == name) all.push_back(&a);
    return all;
  }

  static std::string ending(End end, std::uint32_t attempts, const std::optional<Reason>& reason) {
    const std::string after = " after " + std::to_string(attempts) + (attempts == 1 ? " attempt" : " attempts");
    switch (end) {
      case End::kDone:
        return "done" + after;
      case End::kSkipped:
        return "skipped";
      case End::kParked:
        return "parked" + after;
      case End::kLetter:
        return "letter " + std::string(reason ? bartleby::name(*reason) : "") + after;
    }
    return "";
  }

  std::string what_happened_to(const std::string& name) const {
    if (const auto letter = played_.letters.find(name); letter != played_.letters.end())
      return ending(End::kLetter, letter->second.facts.attempts, letter->second.facts.reason) +
             (played_.committed.at(name) || parked_before(name) ? "" : ", but not committed");
    if (const auto parked = played_.parked.find(name); parked != played_.parked.end())
      return ending(End::kParked, parked->second.waiting.attempts, {}) +
             (played_.committed.at(name) ? ", but committed" : "");
    const auto attempts = attempts_of(name);
    const bool over = played_.committed.contains(name) && (played_.committed.at(name) || parked_before(name));
    if (!over) return "not finished after " + std::to_string(attempts.size()) + " attempts";
    if (attempts.empty() || attempts.back()->fate == Fate::kSkip) return ending(End::kSkipped, 0, {});
    if (attempts.back()->fate == Fate::kDone) return ending(End::kDone, attempts.back()->number, {});
    return "gone without an end";
  }

  // What waits holds the offset back for all that come after it.
  bool parked_before(const std::string& name) const {
    return !played_.parked.empty() && !played_.parked.contains(name);
  }

  void judge(const ExpectEnd& e) {
    const std::string wanted = ending(e.end, e.attempts, e.reason);
    const std::string got = what_happened_to(e.name);
    if (wanted != got) return say(e.name + ": expected " + wanted + ", got " + got);
    if (e.end == End::kLetter) {
      const LetterFacts& f = played_.letters.at(e.name).facts;
      judge_story(e, f.kind, f.first_failure, f.last_failure, f.error.message);
    } else if (e.end == End::kParked) {
      const ParkedMessage& m = played_.parked.at(e.name);
      judge_story(e, m.waiting.kind, m.waiting.first_failure, m.waiting.last_failure, m.error.message);
      if (e.due && !(m.waiting.due && about(*e.due, *m.waiting.due - played_.begin)))
        say(e.name + ": expected to be due at " + duration_text(*e.due) + ", is due at " +
            (m.waiting.due ? duration_text(*m.waiting.due - played_.begin) : "no time"));
    } else if (e.kind || e.first || e.last || e.error || e.due) {
      say(e.name + ": what is done has left no story");
    }
  }

  void judge_story(const ExpectEnd& e, Kind kind, Timestamp first, Timestamp last, const std::string& error) {
    if (e.kind && *e.kind != kind)
      say(e.name + ": expected kind " + std::string(name(*e.kind)) + ", got " + std::string(name(kind)));
    if (e.first && !about(*e.first, first - played_.begin))
      say(e.name + ": expected the first failure at " + duration_text(*e.first) + ", got " +
          duration_text(first - played_.begin));
    if (e.last && !about(*e.last, last - played_.begin))
      say(e.name + ": expected the last failure at " + duration_text(*e.last) + ", got " +
          duration_text(last - played_.begin));
    if (e.error && *e.error != error) say(e.name + ": expected the error '" + *e.error + "', got '" + error + "'");
  }

  void judge(const ExpectWaits& e) {
    std::vector<Duration> got;
    const auto attempts = attempts_of(e.name);
    for (std::size_t i = 1; i < attempts.size(); ++i) got.push_back(attempts[i]->began - attempts[i - 1]->ended);
    if (!about(e.waits, got)) say(e.name + ": expected to wait " + text(e.waits) + ", waited " + text(got));
  }

  void judge(const ExpectAttempts& e) {
    std::vector<Duration> got;
    for (const Attempt* a : attempts_of(e.name)) got.push_back(a->began);
    if (!about(e.at, got)) say(e.name + ": expected attempts at " + text(e.at) + ", got " + text(got));
  }

  void judge(const ExpectWritten& e) {
    const auto written = played_.written.find(e.name);
    if (written == played_.written.end()) return say(e.name + ": has no letter");
    const LetterFacts& f = played_.letters.at(e.name).facts;
    std::string wanted = e.value;
    for (const auto& [word, value] : std::initializer_list<std::pair<std::string_view, std::string>>{
             {"{first}", time_text(f.first_failure)},
             {"{last}", time_text(f.last_failure)},
             {"{first_ms}", std::to_string(ms(f.first_failure))},
             {"{last_ms}", std::to_string(ms(f.last_failure))}})
      for (std::size_t at = wanted.find(word); at != std::string::npos; at = wanted.find(word, at + value.size()))
        wanted.replace(at, word.size(), value);
    const std::string got = written->second.value_or("(null)");
    if (!glob_matches(wanted, got)) say(e.name + ": expected the letter\n    " + wanted + ", got\n    " + got);
  }

  void judge(const ExpectOrder& e) {
    std::string wanted;
    std::string got;
    for (const std::string& name : e.names) wanted += (wanted.empty() ? "" : ", ") + name;
    for (const Attempt& a : played_.attempts)
      if (std::ranges::find(e.names, a.name) != e.names.end()) got += (got.empty() ? "" : ", ") + a.name;
    if (wanted != got) say("expected the order " + wanted + ", got " + got);
  }

  void judge(const ExpectGuard& e) {
    const std::vector<Duration>& got = e.opens ? played_.guard_opened : played_.guard_closed;
    if (!about(e.at, got))
      say(std::string("expected the guard to ") + (e.opens ? "open" : "close") + " at " + text(e.at) + ", got " +
          text(got));
  }

  const Scenario& scenario_;
  const Played& played_;
  std::string out_;
  int line_ = 0;
};

}  // namespace

std::string unmet(const Scenario& scenario, const Played& played) { return Judge(scenario, played).unmet(); }

}  // namespace bartleby::scenario
