// How a member notices that a topic is gone, or is another one under the same name.
//
// librdkafka 2.15.1 goes on at the old position in the new log: where that is shorter the position is out of range, but
// where it has grown past it what lies below would never be read, and nobody would be told. Kafka forgets the offsets
// of a topic that is deleted; a write that was on its way may have brought them back.
#include <algorithm>
#include <iterator>
#include <utility>

#include "adapters/broker/kafka/kafka_member.h"

namespace bartleby::kafka {
namespace {

constexpr std::chrono::milliseconds kTopicsFirst{100};    // between looks that were not answered at all
constexpr std::chrono::milliseconds kTopicsUnfound{250};  // while one was never found
constexpr std::chrono::milliseconds kTopicsLook{2000};
constexpr int kTries = 5;                         // to set offsets back
constexpr std::chrono::seconds kBegunWithin{30};  // the last of these: a revocation may wait for them

}  // namespace

void KafkaMember::look_at_topics() {
  if (!alive_ || topics_asked_ || Clock::now() < next_topics_look_) return;
  topics_asked_ = true;
  const std::uint64_t number = ++last_ask_;
  asks_[number] = {.asked = Asked::kTopics,
                   .request = 0,
                   .ref = {},
                   .tp = {},
                   .wanted = {},
                   .start = {},
                   .stable = {},
                   .high_watermark = {}};
  admin_->ask_topics(answers_.get(), number * 4, spec_.topics);
}

void KafkaMember::topics_read(rd_kafka_event_t* event) {
  topics_asked_ = false;
  next_topics_look_ = Clock::now() + (topics_known_ ? kTopicsLook : kTopicsFirst);
  const auto told = Admin::topics_told(event);
  if (!told) return;
  topics_known_ = true;
  std::vector<TopicPartition> back;  // of all of them in one write: after it this member is over
  std::string anew, why;
  for (const auto& [topic, look] : *told) {
    const TopicTurn turn = topic_watch_.look(topic, look);
    // A write that names an offset of one that is gone is retried until its time is over, and the others' with it.
    if (turn == TopicTurn::kGone && !lose_topic(topic).empty()) {
      lost_topics_.insert(topic);
      if (admin_->options().log) admin_->options().log(4, words_of(turn, topic));
    }
    // Gone and back between two looks of librdkafka: it would never give us these again, read already or not yet.
    if (turn == TopicTurn::kBack && (reads(topic) || lost_topics_.contains(topic))) why = words_of(turn, topic);
    if (turn != TopicTurn::kAnew) continue;
    // Whether or not the group has noticed before: whoever joins next tells where it begins.
    anew = words_of(turn, topic);
    std::vector<TopicPartition> tps = lose_topic(topic);
    std::ranges::copy_if(attached_, std::back_inserter(tps), [&](const auto& tp) { return tp.topic == topic; });
    std::erase_if(tps, [&](const TopicPartition& tp) { return tp.partition.v >= look->partitions; });
    back.insert(back.end(), tps.begin(), tps.end());
  }
  const auto unfound = [this](const std::string& topic) { return !topic_watch_.found(topic); };
  next_topics_look_ = Clock::now() + (std::ranges::any_of(spec_.topics, unfound) ? kTopicsUnfound : kTopicsLook);
  std::ranges::sort(back);
  back.erase(std::ranges::unique(back).begin(), back.end());
  if (setting_back_) return setting_back_->tps.insert(back.begin(), back.end());  // with the next try
  if (!back.empty()) {
    setting_back_ = SetBack{{back.begin(), back.end()}, anew, kTries, Clock::now() + kBegunWithin};
    return set_back();
  }
  answer_revoke();
  if (!anew.empty()) return failed(false, anew, true);
  if (!why.empty()) failed(false, why);
}

bool KafkaMember::reads(const std::string& topic) const {
  return std::ranges::any_of(attached_, [&](const TopicPartition& tp) { return tp.topic == topic; });
}

std::vector<TopicPartition> KafkaMember::lose_topic(const std::string& topic) {
  std::vector<TopicPartition> tps;
  for (std::uint32_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].owned || slots_[i].tp.topic != topic) continue;
    tps.push_back(slots_[i].tp);
    lose(slots_[i], i);
  }
  return tps;
}

// As people do who want everything again: the beginning, without metadata. Behind what was being written, and before
// anybody can take these partitions over: a revocation is not answered meanwhile, for the broker asks for the
// generation only, and would let us write over what their next owner has committed.
void KafkaMember::set_back() {
  const auto in_vain = [this] {
    failed(false, setting_back_->why + ", unless its offset was committed again meanwhile: look at the group's offsets",
           true);
  };
  serve_group();  // what the group has taken from us by now is not ours to set back
  if (!alive_) return;
  auto reset = std::make_shared<WriteOrder>(WriteOrder{WriteSerial(0), {}, {}, nullptr, std::nullopt});
  for (const TopicPartition& tp : setting_back_->tps) reset->offsets.push_back({tp, Offset(0), {}});
  reset->group.reset(rd_kafka_consumer_group_metadata(consumer_.get()));
  // Whoever is out of the group may not move what another owns now.
  if (reset->offsets.empty() || !reset->group || rd_kafka_consumer_group_metadata_generation_id(reset->group.get()) < 1)
    return in_vain();
  reset->fate = std::exchange(next_fate_, std::nullopt);
  writer_.post([this, reset, in_vain] {
    const bool done = transactions_.write(*reset).answer.result == WriteResult::kDone;
    this->order([this, reset, in_vain, done] {
      for (const CommittedOffset& o : reset->offsets)
        if (done) setting_back_->tps.erase(o.tp);
      if (done && setting_back_->tps.empty()) return failed(false, setting_back_->why, true);
      if (--setting_back_->tries > 0 && (!revoking_ || Clock::now() < setting_back_->until)) return set_back();
      in_vain();
    });
  });
}

}  // namespace bartleby::kafka
