// A store and a broker that fail as a seed says, between the office and the real ones.
//
// Each call may be answered with an error before anything happened, be done and answered with an error, or end the
// process (`OfficeCrash` is thrown) before, in the middle of, or after it. `at_call` runs before each call: another
// office may work there. One thread. What throws leaves the real store and broker as they would be after a crash.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "codec/replay_header.h"
#include "ports/broker.h"
#include "ports/store.h"
#include "ports/topic_ids.h"

namespace bartleby::sim {

struct OfficeCrash {};
struct OfficeBusyWithoutEnd {};

// Chances per mille of each call.
struct OfficeFaults {
  std::uint32_t fail = 0;         // nothing is done
  std::uint32_t lost_reply = 0;   // it is done
  std::uint32_t crash = 0;        // of these a third each before, within and after
  std::uint32_t no_outcomes = 0;  // of reads of outcomes: nothing is done
};

enum class CallFate : std::uint8_t { kNormal, kFails, kReplyLost, kCrashBefore, kCrashWithin, kCrashAfter };

inline std::unexpected<Error> did_not_answer() { return fail(ErrorCode::kUnavailable, "it did not answer"); }

// What the store's and the broker's calls of one world share.
class OfficeFate {
 public:
  static constexpr std::uint64_t kMostCalls = 20000;  // of one turn

  OfficeFate(Random& random, const OfficeFaults& faults) : random_(random), faults_(faults) {}

  std::function<void()> at_call;
  std::function<void(CallFate)> happened;

  void begin_turn() { calls_ = 0; }
  CallFate next() {
    if (++calls_ > kMostCalls) throw OfficeBusyWithoutEnd{};
    if (at_call) at_call();
    const std::uint64_t drawn = random_.below(1000);
    CallFate fate = CallFate::kNormal;
    if (drawn < faults_.fail)
      fate = CallFate::kFails;
    else if (drawn < faults_.fail + faults_.lost_reply)
      fate = CallFate::kReplyLost;
    else if (drawn < faults_.fail + faults_.lost_reply + faults_.crash)
      fate = static_cast<CallFate>(static_cast<int>(CallFate::kCrashBefore) + static_cast<int>(random_.below(3)));
    if (fate != CallFate::kNormal && happened) happened(fate);
    if (fate == CallFate::kCrashBefore) throw OfficeCrash{};
    return fate;
  }
  // A call that is done whole or not at all.
  template <class Call>
  auto asked(Call&& call) -> decltype(call()) {
    const CallFate fate = next();
    if (fate == CallFate::kFails) return did_not_answer();
    if (fate == CallFate::kCrashWithin) throw OfficeCrash{};
    auto answer = call();
    if (fate == CallFate::kCrashAfter) throw OfficeCrash{};
    if (answer && fate == CallFate::kReplyLost) return did_not_answer();
    return answer;
  }
  bool outcomes_fail() { return random_.below(1000) < faults_.no_outcomes; }

 private:
  Random& random_;
  const OfficeFaults& faults_;
  std::uint64_t calls_ = 0;
};

class FragileStore : public Store {
 public:
  FragileStore(Store& inside, OfficeFate& fate) : inside_(inside), fate_(fate) {}

  std::function<void()> committed;  // after every transaction that took effect

  Result<void> write(const Work& work) override {
    const CallFate fate = fate_.next();
    const auto done = inside_.write([&](Connection& connection) -> Result<void> {
      if (auto worked = work(connection); !worked) return worked;
      if (fate == CallFate::kCrashWithin) throw OfficeCrash{};
      if (fate == CallFate::kFails) return did_not_answer();
      return {};
    });
    if (done && committed) committed();
    if (fate == CallFate::kCrashAfter) throw OfficeCrash{};
    if (done && fate == CallFate::kReplyLost) return did_not_answer();
    return done;
  }

  Result<void> read(const Work& work) override {
    const CallFate fate = fate_.next();
    if (fate == CallFate::kFails || fate == CallFate::kReplyLost) return did_not_answer();
    if (fate != CallFate::kNormal) throw OfficeCrash{};
    return inside_.read(work);
  }

 private:
  Store& inside_;
  OfficeFate& fate_;
};

class FragileBroker : public Broker, public TopicIds {
 public:
  FragileBroker(Broker& inside, OfficeFate& fate) : inside_(inside), fate_(fate) {}

  std::function<std::string(const std::string&)> id_of;  // of a topic; absent: it tells none

  Result<std::unique_ptr<Member>> join(const GroupSpec& spec) override { return inside_.join(spec); }
  Result<std::vector<TopicSpec>> ensure_topics(const std::vector<TopicSpec>& wanted) override {
    return fate_.asked([&] { return inside_.ensure_topics(wanted); });
  }
  Result<TopicSpec> describe(const std::string& topic) override {
    return fate_.asked([&] { return inside_.describe(topic); });
  }
  Result<std::vector<CommittedOffset>> group_offsets(const std::string& group,
                                                     const std::vector<std::string>& topics) override {
    return fate_.asked([&] { return inside_.group_offsets(group, topics); });
  }
  Result<void> commit_first(const std::string& group, const std::vector<CommittedOffset>& offsets) override {
    return inside_.commit_first(group, offsets);
  }
  Result<std::pair<Offset, Offset>> log_range(const TopicPartition& tp) override {
    if (tp.topic == kOutcomesTopic && fate_.outcomes_fail()) return did_not_answer();
    return fate_.asked([&] { return inside_.log_range(tp); });
  }
  Result<std::vector<Written>> produce(const std::vector<Record>& records) override {
    return fate_.asked([&] { return inside_.produce(records); });
  }
  Result<std::vector<Written>> produce_with(const std::vector<Record>& records, const Cursor& cursor) override {
    return fate_.asked([&] { return inside_.produce_with(records, cursor); });
  }
  Result<std::vector<TopicSpec>> topics() override {
    return fate_.asked([&] { return inside_.topics(); });
  }
  Result<std::vector<LogRecord>> read(const TopicPartition& tp, Offset from, std::size_t records,
                                      std::size_t bytes) override {
    return fate_.asked([&] { return inside_.read(tp, from, records, bytes); });
  }
  Result<std::map<std::string, std::string>> topic_ids(const std::vector<std::string>& topics) override {
    if (!id_of) return std::map<std::string, std::string>();
    return fate_.asked([&]() -> Result<std::map<std::string, std::string>> {
      std::map<std::string, std::string> ids;
      for (const std::string& topic : topics) ids[topic] = id_of(topic);
      return ids;
    });
  }

 private:
  Broker& inside_;
  OfficeFate& fate_;
};

}  // namespace bartleby::sim
