#include "tests/scenario/play.h"

#include <algorithm>
#include <array>
#include <memory>

#include "wiring/admission.h"

namespace bartleby::scenario {
namespace {

constexpr int kMaxTurns = 1'000'000;
constexpr Duration kStartLimit{60000};

TopicSpec topic(const std::string& name) {
  TopicSpec spec;
  spec.name = name;
  return spec;
}

class Player {
 public:
  Player(const Scenario& scenario, Stage& stage) : scenario_(scenario), stage_(stage) {
    for (const HandlerScript& h : scenario.handlers) scripts_[h.name] = {&h.answers, 0};
  }

  Played play() {
    prepare();
    start();
    for (int turns = 0; broken().empty() && !running_everywhere(); ++turns) {
      turn(Duration(1000));
      if (turns == kMaxTurns || stage_.now().steady > Instant(kStartLimit)) out_.broken = "the worker does not start";
    }
    begin_ = stage_.now().steady;
    out_.begin = stage_.now().wall;
    began_ = true;
    const Instant end = begin_ + scenario_.until;
    for (int turns = 0; broken().empty() && stage_.now().steady < end; ++turns) {
      act();
      answer();
      const Instant next = std::min({end, next_action(), next_answer()});
      turn(next - stage_.now().steady);
      if (turns == kMaxTurns) out_.broken = "it does not come to its end";
    }
    if (pump_) look_back();
    out_.timeline.emplace(since(), "the end");
    return std::move(out_);
  }

 private:
  struct Script {
    const std::vector<Answer>* answers = nullptr;
    std::size_t at = 0;
  };
  struct Running {
    Token token;
    TopicPartition tp;
    std::vector<std::shared_ptr<const LogRecord>> messages;
    std::uint16_t case_id = 0;
    std::uint32_t first_number = 1;
    std::uint32_t at = 0;
    std::size_t attempt = 0;  // into Played::attempts
    Answer answer;
    Instant ends = kNever;
  };

  const std::string& broken() const { return out_.broken; }
  Duration since() const { return began_ ? stage_.now().steady - begin_ : Duration(0); }
  void say(const std::string& text) { out_.timeline.emplace(since(), text); }

  void prepare() {
    std::vector<TopicSpec> wanted;
    std::vector<CommittedOffset> first;
    for (const std::string& name : scenario_.worker.topics) {
      wanted.push_back(topic(name));
      wanted.push_back(topic(journal(name)));
      wanted.back().compacted = true;
      wanted.push_back(topic(dead_letters(name)));
      first.push_back({{name, Partition(0)}, Offset(0), ""});
    }
    if (!stage_.broker().ensure_topics(wanted) || !stage_.broker().commit_first(scenario_.worker.group, first))
      out_.broken = "the broker did not take the topics";
  }

  std::string journal(const std::string& of) const { return scenario_.worker.journal_of(of, scenario_.cluster); }
  std::string dead_letters(const std::string& of) const {
    return scenario_.worker.dead_letters_of(of, scenario_.cluster);
  }

  void start() {
    auto member = stage_.broker().join(
        {scenario_.worker.group, scenario_.worker.topics, "i" + std::to_string(++life_), Duration(1000)});
    if (!member) {
      out_.broken = "the worker could not join: " + member.error().message;
      return;
    }
    member_ = std::move(*member);
    PumpConfig config;
    config.engine = scenario_.worker.engine();
    config.engine.in_process = false;
    config.cluster = scenario_.cluster;
    config.group = scenario_.worker.group;
    config.worker = scenario_.worker.name;
    config.instance = "i" + std::to_string(life_);
    for (const std::string& name : scenario_.worker.topics)
      config.topics[name] = {
          {}, journal(name), {dead_letters(name), 1, 512 * 1024, scenario_.worker.dead_letter.dialect}};
    config.admit = admission_of(scenario_.worker);
    pump_ = std::make_unique<Pump>(
        std::move(config), *member_,
        [this](const Run& run, std::span<const RunMessage> messages) { run_begins(run, messages); },
        [this](const Alarm& alarm, const TopicPartition*) { alarmed(alarm); });
  }

  bool running_everywhere() const {
    const auto all = pump_->partitions();
    return all.size() == scenario_.worker.topics.size() && std::ranges::all_of(all, [this](const auto& place) {
             const PartitionEngine* p = pump_->engine().partition(place.first);
             return p != nullptr && p->phase() == Phase::kRunning;
           });
  }

  // Lets the broker's time pass, up to `most` and to the engine's next wakeup, and takes one turn.
  void turn(Duration most) {
    const Duration asleep = pump_->next_wakeup() - stage_.now().steady;
    const bool at_once = pump_->has_handled() || pump_->has_events() || most <= Duration(0);
    pump_->poll(at_once ? Duration(0) : std::clamp(std::min(most, asleep), Duration(1), Duration(1000)));
    pump_->turn(stage_.now());
    if (pump_->failed()) out_.broken = "the member is out of its group";
  }

  // ---- what the scenario does ----------------------------------------------------------------------------

  Instant next_action() const {
    return action_ < scenario_.actions.size() ? begin_ + scenario_.actions[action_].at : kNever;
  }

  void act() {
    while (broken().empty() && next_action() <= stage_.now().steady) {
      const Action& action = scenario_.actions[action_++];
      if (const auto* one = std::get_if<Send>(&action.what))
        send(*one);
      else if (const auto* again = std::get_if<Restart>(&action.what))
        restart(again->crash);
      else
        pump_->tell(ParkedOrder{.what = std::get<Order>(action.what).what, .ref = {}, .offset = {}, .kind = {}});
    }
  }

  void send(const Send& one) {
    const auto written = stage_.broker().produce({one.record});
    if (!written) {
      out_.broken = "the broker did not take " + one.name + ": " + written.error().message;
      return;
    }
    const TopicPartition tp{one.record.topic, written->front().partition};
    names_[{tp, written->front().offset}] = one.name;
    sent_[one.name] = &one.record;
    say(one.name + " sent to " + tp.topic + " at offset " + std::to_string(written->front().offset.v));
  }

  void restart(bool crash) {
    say(crash ? "the worker crashes" : "the worker stops");
    if (!crash) {
      pump_->tell(StopIn{});
      for (int turns = 0; !pump_->stopped() && broken().empty(); ++turns) {
        answer();
        turn(next_answer() - stage_.now().steady);
        if (turns == kMaxTurns) out_.broken = "the worker does not stop";
      }
      member_->leave();
    }
    running_.clear();
    pump_.reset();
    member_.reset();
    start();
  }

  // ---- the handler ---------------------------------------------------------------------------------------

  void run_begins(const Run& run, std::span<const RunMessage> messages) {
    Running r{.token = run.token,
              .tp = *messages.front().tp,
              .messages = {},
              .case_id = messages.front().case_id,
              .first_number = run.attempt,
              .answer = {}};
    for (const RunMessage& m : messages) r.messages.push_back(m.keep());
    begin_message(r);
    running_.push_back(std::move(r));
  }

  void begin_message(Running& r) {
    const std::string name = names_[{r.tp, r.messages[r.at]->offset}];
    const std::uint32_t number = r.at == 0 ? r.first_number : 1;
    r.answer = next_answer_of(name);
    const Duration takes = r.answer.hangs ? scenario_.worker.cases[r.case_id].retry.timeout : r.answer.takes;
    r.ends = stage_.now().steady + takes;
    r.attempt = out_.attempts.size();
    out_.attempts.push_back({name, number, since(), {}, {}});
    say(name + " attempt " + std::to_string(number) + " begins");
  }

  Answer next_answer_of(const std::string& name) {
    const auto found = scripts_.find(name);
    if (found == scripts_.end()) return {};
    Script& s = found->second;
    const std::vector<Answer>& all = *s.answers;
    while (s.at + 1 < all.size() && all[s.at].until && since() >= *all[s.at].until) ++s.at;
    const Answer& a = all[s.at];
    if (!a.until && s.at + 1 < all.size()) ++s.at;
    return a;
  }

  Instant next_answer() const {
    Instant next = kNever;
    for (const Running& r : running_) next = std::min(next, r.ends);
    return next;
  }

  void answer() {
    for (std::size_t i = 0; i < running_.size();) {
      if (running_[i].ends > stage_.now().steady || !end_message(running_[i]))
        ++i;
      else
        running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  // True: the whole run is over.
  bool end_message(Running& r) {
    static constexpr std::array<const char*, 5> kFates = {"done", "skip", "fails", "reject", "logical failure"};
    const Answer& a = r.answer;
    Attempt& attempt = out_.attempts[r.attempt];
    attempt.ended = since();
    attempt.fate = a.fate;
    const bool failed = a.fate == Fate::kRetry || a.fate == Fate::kReject;
    say(attempt.name + " attempt " + std::to_string(attempt.number) + " " + kFates[static_cast<std::size_t>(a.fate)] +
        (failed ? " " + std::string(name(a.kind)) : ""));
    if (a.fate == Fate::kDone) {
      ++r.at;
      if (r.at < r.messages.size()) {
        begin_message(r);
        return false;
      }
      pump_->handled({r.token, r.at, std::nullopt});
      return true;
    }
    Decision d;
    d.fate = a.fate;
    d.kind = a.kind;
    d.after = a.after;
    if (failed) d.error = {"Scripted", a.error, ""};
    pump_->handled({r.token, r.at, std::move(d)});
    return true;
  }

  void alarmed(const Alarm& alarm) {
    if (alarm.type == AlarmType::kGuardOpened) {
      out_.guard_opened.push_back(since());
      say("the guard opens");
    } else if (alarm.type == AlarmType::kGuardClosed) {
      out_.guard_closed.push_back(since());
      say("the guard closes");
    }
  }

  // ---- what has become of them ---------------------------------------------------------------------------

  void look_back() {
    for (const std::string& source : scenario_.worker.topics) read_letters(dead_letters(source));
    for (const ParkedMessage& m : pump_->parked({}, stage_.now(), SIZE_MAX))
      if (const auto name = names_.find({m.tp, m.waiting.offset}); name != names_.end()) out_.parked[name->second] = m;
    const auto offsets = stage_.broker().group_offsets(scenario_.worker.group, scenario_.worker.topics);
    if (!offsets) {
      out_.broken = "cannot read the offsets: " + offsets.error().message;
      return;
    }
    for (const auto& [where, name] : names_)
      for (const CommittedOffset& o : *offsets)
        if (o.tp == where.first) out_.committed[name] = o.offset && *o.offset > where.second;
  }

  void read_letters(const std::string& dlq) {
    const auto records = stage_.broker().read({dlq, Partition(0)}, Offset(0), 10000, std::size_t{64} << 20);
    if (!records) {
      out_.broken = "cannot read " + dlq + ": " + records.error().message;
      return;
    }
    for (const LogRecord& record : *records) {
      auto letter = join_letter({record});
      if (!letter) {
        out_.broken = "a letter that cannot be read: " + letter.error().message;
        return;
      }
      const LetterFacts& f = letter->facts;
      const std::string name = names_[{{f.topic, f.partition}, f.offset}];
      out_.timeline.emplace(record.timestamp - out_.begin, name + " becomes a letter");
      const auto sent = sent_.find(name);
      if (sent == sent_.end() || letter->record.key != sent->second->key ||
          letter->record.value != sent->second->value || letter->record.headers != sent->second->headers)
        out_.broken = "the letter of " + name + " is not the message that was sent";
      out_.written[name] = record.value;
      if (!out_.letters.emplace(name, std::move(*letter)).second) out_.broken = name + " became a letter twice";
    }
  }

  const Scenario& scenario_;
  Stage& stage_;
  Played out_;
  std::map<std::string, Script> scripts_;
  std::map<std::pair<TopicPartition, Offset>, std::string> names_;
  std::map<std::string, const Record*> sent_;  // by name; of the scenario
  std::unique_ptr<Member> member_;
  std::unique_ptr<Pump> pump_;
  std::vector<Running> running_;
  std::size_t action_ = 0;
  int life_ = 0;
  Instant begin_{};
  bool began_ = false;
};

}  // namespace

std::string Played::text() const {
  std::string out;
  for (const auto& [at, what] : timeline) out += "  " + duration_text(at) + "  " + what + "\n";
  return out;
}

Played play(const Scenario& scenario, Stage& stage) { return Player(scenario, stage).play(); }

}  // namespace bartleby::scenario
