#include "tests/scenario/scenario.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "codec/duration_text.h"
#include "wiring/config_text.h"

namespace bartleby::scenario {
namespace {

constexpr std::size_t kMaxText = 64 * 1024;
constexpr std::int64_t kMaxRange = 1000;

struct Wrong {
  std::string what;
  bool placed = false;  // it names file and line already
};

// The words of one line. A word that is wanted and not there, or is something else, ends the reading of the file.
class Words {
 public:
  explicit Words(const std::string& line) : rest_(line) { skip(); }

  bool empty() const { return rest_.empty(); }

  std::string next(const char* what) {
    if (rest_.empty()) throw Wrong{std::string("wants ") + what + " at the end of the line"};
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    std::string word = rest_.substr(0, end);
    rest_.erase(0, end);
    skip();
    return word;
  }
  bool take(const std::string& word) {
    if (rest_ != word && !rest_.starts_with(word + " ")) return false;
    rest_.erase(0, word.size());
    skip();
    return true;
  }
  void want(const std::string& word) {
    if (!take(word)) throw Wrong{"wants '" + word + "' before '" + rest_ + "'"};
  }
  std::string rest() { return std::exchange(rest_, ""); }
  bool starts_with(const std::string& text) const { return rest_.starts_with(text); }

  Duration time() { return time_of(next("a time such as 5s")); }
  static Duration time_of(const std::string& word) {
    const auto found = duration_from_text(word);
    if (!found) throw Wrong{"'" + word + "' is no time; wants 250ms, 10s, 5m or 1h"};
    return *found;
  }
  std::uint32_t number() {
    const std::string word = next("a number");
    const auto found = parse_number(word);
    if (!found || *found < 0 || *found > 1000000) throw Wrong{"'" + word + "' is no number from 0 to 1000000"};
    return static_cast<std::uint32_t>(*found);
  }
  Kind kind() {
    const std::string word = next("a kind");
    const auto found = kind_named(word);
    if (!found) throw Wrong{"'" + word + "' is no kind of failure"};
    return *found;
  }
  void end() const {
    if (!rest_.empty()) throw Wrong{"does not understand '" + rest_ + "'"};
  }

 private:
  void skip() { rest_.erase(0, std::min(rest_.find_first_not_of(' '), rest_.size())); }

  std::string rest_;
};

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, ',');) {
    const std::size_t from = part.find_first_not_of(' ');
    if (from == std::string::npos) throw Wrong{"nothing between two commas"};
    parts.push_back(part.substr(from, part.find_last_not_of(' ') - from + 1));
  }
  return parts;
}

std::vector<Duration> times(const std::string& text) {
  std::vector<Duration> all;
  for (const std::string& part : split_at_commas(text)) all.push_back(Words::time_of(part));
  return all;
}

// `m1`, or `m1..m20` for twenty of them.
std::vector<std::string> names_of(const std::string& word) {
  const std::size_t dots = word.find("..");
  if (dots == std::string::npos) return {word};
  const auto number_at = [](const std::string& name) { return name.find_first_of("0123456789"); };
  const std::string first = word.substr(0, dots);
  const std::string last = word.substr(dots + 2);
  const std::string stem = first.substr(0, number_at(first));
  const auto from = parse_number(first.substr(std::min(number_at(first), first.size())));
  const auto to = parse_number(last.substr(std::min(number_at(last), last.size())));
  if (!from || !to || *to < *from || *to - *from >= kMaxRange || last.substr(0, number_at(last)) != stem)
    throw Wrong{"'" + word + "' is no range such as m1..m20"};
  std::vector<std::string> names;
  for (std::int64_t i = *from; i <= *to; ++i) names.push_back(stem + std::to_string(i));
  return names;
}

// `{name}` in a key or value stands for the name of the message.
std::string with_name(std::string text, const std::string& name) {
  for (std::size_t at = text.find("{name}"); at != std::string::npos; at = text.find("{name}", at + name.size()))
    text.replace(at, 6, name);
  return text;
}

void add(Scenario& out, Action action) {
  const auto behind = std::ranges::upper_bound(out.actions, action.at, {}, &Action::at);
  out.actions.insert(behind, std::move(action));
}

void read_send(Words& words, Duration at, Scenario& out) {
  const std::vector<std::string> names = names_of(words.next("the name of a message"));
  words.want("to");
  Record record;
  record.topic = words.next("a topic");
  while (!words.empty()) {
    if (words.starts_with("value=")) {
      record.value = words.rest().substr(6);
      break;
    }
    const std::string word = words.next("key=, header= or value=");
    const std::size_t colon = word.find(':');
    if (word.starts_with("key="))
      record.key = word.substr(4);
    else if (word.starts_with("header=") && colon != std::string::npos)
      record.headers.emplace_back(word.substr(7, colon - 7), word.substr(colon + 1));
    else
      throw Wrong{"does not understand '" + word + "'; wants key=K, header=NAME:VALUE or value=…"};
  }
  if (!record.value) record.value = "{name}";
  for (const std::string& name : names) {
    Record own = record;
    if (own.key) own.key = with_name(*own.key, name);
    own.value = with_name(*own.value, name);
    add(out, {at, Send{name, std::move(own)}});
  }
}

void read_at(Words& words, Scenario& out) {
  const Duration at = words.time();
  if (words.take("send")) return read_send(words, at, out);
  const std::string what = words.next("send, restart, crash, run-now or give-up");
  words.end();
  if (what == "restart" || what == "crash")
    add(out, {at, Restart{what == "crash"}});
  else if (what == "run-now")
    add(out, {at, Order{ParkedOrder::What::kRunNow}});
  else if (what == "give-up")
    add(out, {at, Order{ParkedOrder::What::kGiveUp}});
  else
    throw Wrong{"does not understand '" + what + "'; wants send, restart, crash, run-now or give-up"};
}

Answer read_answer(const std::string& text) {
  Words words(text);
  Answer a;
  const std::string what = words.next("done, skip, fail, reject or hang");
  if (what == "fail")
    a.fate = Fate::kRetry;
  else if (what == "reject")
    a.fate = Fate::kReject, a.kind = Kind::kPermanent;
  else if (what == "skip")
    a.fate = Fate::kSkip;
  else if (what == "hang")
    a.fate = Fate::kRetry, a.kind = Kind::kTimeout, a.hangs = true;
  else if (what != "done")
    throw Wrong{"does not understand '" + what + "'; wants done, skip, fail, reject or hang"};
  while (!words.empty()) {
    if (words.take("after"))
      a.after = words.time();
    else if (words.take("takes"))
      a.takes = words.time();
    else if (words.take("until"))
      a.until = words.time();
    else if (words.take("saying"))
      a.error = words.rest();
    else if (what == "fail")
      a.kind = words.kind();
    else
      words.end();
  }
  return a;
}

void read_handler(Words& words, Scenario& out) {
  std::string name = words.next("the name of a message");
  if (!name.ends_with(':')) throw Wrong{"wants ':' behind the name"};
  name.pop_back();
  std::vector<Answer> answers;
  for (const std::string& part : split_at_commas(words.rest())) answers.push_back(read_answer(part));
  if (answers.empty()) throw Wrong{"wants an answer"};
  for (const std::string& one : names_of(name)) out.handlers.push_back({one, answers});
}

ExpectEnd read_end(Words& words, End end) {
  ExpectEnd e{.name = {}, .end = end, .reason = {}, .kind = {}, .first = {}, .last = {}, .due = {}, .error = {}};
  if (end == End::kSkipped) {
    words.end();
    return e;
  }
  if (end == End::kLetter) {
    const std::string reason = words.next("the reason of the letter");
    e.reason = reason_named(reason);
    if (!e.reason) throw Wrong{"'" + reason + "' is no reason of a letter"};
  }
  words.want("after");
  e.attempts = words.number();
  if (!words.take("attempts")) words.want("attempt");
  while (!words.empty()) {
    if (words.take("kind"))
      e.kind = words.kind();
    else if (words.take("first"))
      e.first = words.time();
    else if (words.take("last"))
      e.last = words.time();
    else if (words.take("due"))
      e.due = words.time();
    else if (words.take("saying"))
      e.error = words.rest();
    else
      words.end();
  }
  return e;
}

void read_expectation(Words& words, int line, Scenario& out) {
  if (words.take("order")) {
    out.expectations.push_back({line, ExpectOrder{split_at_commas(words.rest())}});
    return;
  }
  if (words.take("guard")) {
    ExpectGuard guard;
    guard.opens = !words.take("closes");
    if (!guard.opens || words.take("opens"))
      guard.at = times(words.rest());
    else
      words.want("stays closed");
    words.end();
    out.expectations.push_back({line, guard});
    return;
  }
  const std::vector<std::string> names = names_of(words.next("the name of a message"));
  for (const std::string& name : names) {
    Words own = words;
    if (own.take("waits")) {
      out.expectations.push_back({line, ExpectWaits{name, times(own.rest())}});
    } else if (own.take("attempts")) {
      own.want("at");
      out.expectations.push_back({line, ExpectAttempts{name, times(own.rest())}});
    } else if (own.take("writes")) {
      out.expectations.push_back({line, ExpectWritten{name, own.rest()}});
    } else {
      static const std::map<std::string, End> kEnds{
          {"done", End::kDone}, {"skipped", End::kSkipped}, {"parked", End::kParked}, {"letter", End::kLetter}};
      const std::string word = own.next("done, skipped, parked, letter, waits, attempts or writes");
      const auto end = kEnds.find(word);
      if (end == kEnds.end())
        throw Wrong{"does not understand '" + word +
                    "'; wants done, skipped, parked, letter, waits, attempts or writes"};
      ExpectEnd e = read_end(own, end->second);
      e.name = name;
      out.expectations.push_back({line, std::move(e)});
    }
  }
}

// Every message is sent once and its end expected once; nothing speaks of a message that there is not.
void check(const Scenario& s) {
  std::set<std::string> sent;
  std::set<std::string> ends;
  const auto known = [&](const std::string& name) {
    if (!sent.contains(name)) throw Wrong{"there is no message " + name};
  };
  for (const Action& a : s.actions)
    if (const auto* send = std::get_if<Send>(&a.what)) {
      if (!sent.insert(send->name).second) throw Wrong{"message " + send->name + " is sent twice"};
      if (std::ranges::find(s.worker.topics, send->record.topic) == s.worker.topics.end())
        throw Wrong{"the worker does not read topic " + send->record.topic};
      if (a.at > s.until) throw Wrong{"message " + send->name + " is sent after the end"};
    }
  for (const HandlerScript& h : s.handlers) known(h.name);
  for (const Expectation& e : s.expectations) {
    if (const auto* end = std::get_if<ExpectEnd>(&e.what)) {
      known(end->name);
      if (!ends.insert(end->name).second) throw Wrong{"the end of " + end->name + " is expected twice"};
    }
    if (const auto* waits = std::get_if<ExpectWaits>(&e.what)) known(waits->name);
    if (const auto* at = std::get_if<ExpectAttempts>(&e.what)) known(at->name);
    if (const auto* written = std::get_if<ExpectWritten>(&e.what)) known(written->name);
    if (const auto* order = std::get_if<ExpectOrder>(&e.what))
      for (const std::string& name : order->names) known(name);
  }
  for (const std::string& name : sent)
    if (!ends.contains(name)) throw Wrong{"nothing says how " + name + " ends"};
  if (sent.empty()) throw Wrong{"no message is sent"};
  if (s.until == Duration(0)) throw Wrong{"wants a line 'until TIME'"};
}

void read_config(const std::string& text, Scenario& out) {
  ConfigSources sources;
  sources.file = ConfigFile{out.file, text};
  auto config = load(sources);
  if (!config) throw Wrong{config_check_text(config.error()), true};
  if (config->workers.size() != 1) throw Wrong{"wants one worker"};
  out.cluster = config->cluster_id;
  out.worker = std::move(config->workers.front());
}

}  // namespace

std::expected<Scenario, std::string> parse(const std::string& file, const std::string& text) {
  Scenario out;
  out.file = file;
  int line = 0;
  try {
    if (text.size() > kMaxText) throw Wrong{"larger than 64 kB"};
    std::istringstream in(text);
    std::string one;
    std::string config;
    while (std::getline(in, one) && ++line > 0 && one != "---") config += one + "\n";
    if (one != "---") throw Wrong{"wants a line --- between the configuration and what happens"};
    read_config(config, out);
    while (std::getline(in, one)) {
      ++line;
      one.erase(one.find_last_not_of(' ') + 1);
      Words words(one);
      if (words.empty() || words.starts_with("#")) continue;
      if (words.take("at"))
        read_at(words, out);
      else if (words.take("handler"))
        read_handler(words, out);
      else if (words.take("until"))
        out.until = words.time(), words.end();
      else if (words.take("expect"))
        read_expectation(words, line, out);
      else
        throw Wrong{"does not understand '" + one + "'; wants at, handler, until or expect"};
    }
    check(out);
  } catch (const Wrong& wrong) {
    return std::unexpected(wrong.placed ? wrong.what : file + ":" + std::to_string(line) + ": " + wrong.what);
  }
  return out;
}

}  // namespace bartleby::scenario
