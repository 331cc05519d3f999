// The topics that a worker makes: journals, dead letter topics, private lanes, and what handlers emit to.
#include <algorithm>
#include <limits>

#include "codec/replay_header.h"
#include "codec/topic_name.h"
#include "runtime/worker.h"

namespace bartleby {
namespace {

constexpr Duration kGrowthLook{1000};                            // between two looks for partitions that were added
constexpr Duration kGrowthAgain{10000};                          // after topics that could not be made to fit
constexpr std::size_t kMaxEmittedTopics = 1000;                  // known to exist
constexpr Duration kLaneRetention{std::chrono::hours(24 * 30)};  // of private lanes and outcomes

TopicSpec topic_spec(const std::string& name, std::int32_t partitions) {
  TopicSpec spec;
  spec.name = name;
  spec.partitions = partitions;
  return spec;
}

// Of ours beside a topic of messages: a broker that dies must not take more than it takes of that one.
TopicSpec beside(const TopicSpec& topic, const std::string& name) {
  TopicSpec spec = topic_spec(name, topic.partitions);
  spec.least_replicas = spec.beside_replicas = topic.replicas;
  spec.in_step = topic.in_step;
  return spec;
}

// An entry may hold its message, as text: a byte becomes six characters at most.
std::size_t journal_message(std::size_t message) {
  return std::min<std::size_t>(6 * message + 65536, std::numeric_limits<std::int32_t>::max());
}

// People who make a journal themselves mostly make it like any other topic: then its entries are deleted while the
// messages that they are of still wait. Only their latest may stay, and that for ever.
bool keeps_entries(const TopicSpec& journal) {
  return journal.hidden || (journal.compacted && !journal.retention && !journal.retention_bytes);
}

// A letter that must go in parts: each with its headers fits into a record of its dlq.
std::size_t part_bytes(std::size_t max_message) {
  constexpr std::size_t kStory = 65536;
  const std::size_t most = LetterTarget{}.part_bytes;
  return max_message >= most + kStory ? most : max_message > 2 * kStory ? max_message - kStory : max_message / 2;
}

}  // namespace

bool Worker::make_topics() {
  sources_.clear();
  lanes_.clear();
  std::vector<TopicSpec> wanted;
  std::int32_t copies = kOutcomesReplicas;
  std::int32_t most_copies = 0;
  for (const std::string& topic : spec_.topics) {
    Result<TopicSpec> there = broker_.describe(topic);
    if (!there && there.error().code == ErrorCode::kNotFound && spec_.new_topic_partitions > 0) {
      const auto made = broker_.ensure_topics({topic_spec(topic, spec_.new_topic_partitions)});
      if (!made) return trouble("cannot create topic " + topic, made.error()), false;
      log_.info("topic_created", {{"topic", topic}, {"partitions", spec_.new_topic_partitions}});
      there = made->front();
    }
    if (!there) return trouble("topic " + topic, there.error()), false;
    if (there->hidden) tell_hidden(topic);
    const TopicWords words{topic, spec_.group, spec_.name, spec_.cluster};
    SourceTopic source;
    source.traits = {there->retention, there->retention_bytes, there->compacted, there->max_message};
    source.journal = topic_name(spec_.journal, words);
    source.dlq.topic = topic_name(spec_.dead_letter, words);
    source.dlq.partitions = there->partitions;
    source.dlq.dialect = spec_.dialect;
    partitions_[topic] = there->partitions;
    copies = std::max(copies, there->replicas);
    most_copies = std::max(most_copies, there->replicas);
    wanted.push_back(beside(*there, source.journal));
    wanted.back().compacted = true;
    wanted.back().max_message = journal_message(there->max_message);
    if (spec_.engine.dead_letters) {
      wanted.push_back(dlq_spec(source.dlq.topic, *there));
    }
    if (!spec_.replay_topic.empty()) add_lane(source, words, *there, wanted);
    sources_[topic] = std::move(source);
  }
  if (spec_.replay_of) {
    wanted.push_back(topic_spec(kOutcomesTopic, kOutcomesPartitions));
    wanted.back().retention = kLaneRetention;
    wanted.back().least_replicas = copies;
    wanted.back().beside_replicas = most_copies;
  }
  const auto made = broker_.ensure_topics(wanted);
  if (!made) return trouble("cannot create journal and dead letter topics", made.error()), false;
  for (auto& [topic, source] : sources_)
    for (const TopicSpec& t : *made) {
      if (t.name == source.journal && !keeps_entries(t))
        return trouble("journal " + t.name, Error{ErrorCode::kInvalid,
                                                  "it forgets entries of messages that wait: set its cleanup.policy"
                                                  " to compact"}),
               false;
      if (t.name == source.dlq.topic) {
        source.dlq.partitions = t.partitions;
        source.dlq.part_bytes = part_bytes(t.max_message);
      }
    }
  for (const TopicSpec& asked : wanted)
    for (const TopicSpec& t : *made)
      if (asked.forever && t.name == asked.name && (t.retention || t.retention_bytes || t.compacted))
        tell_forgetting(t);
  return true;
}

// Somebody else has made it: it keeps its settings, whatever the configuration says.
void Worker::tell_forgetting(const TopicSpec& dlq) {
  if (!told_topics_.insert(dlq.name).second) return;
  log_.warning(
      "dlq_forgets",
      {{"worker", spec_.name},
       {"dlq", dlq.name},
       {"retention_ms", dlq.retention ? dlq.retention->count() : -1},
       {"why", dlq.compacted ? "its letters are to be kept for ever, and its topic keeps the newest of each key:"
                               " set its cleanup.policy to delete"
                             : "its letters are to be kept for ever, and its topic deletes old ones, taken in"
                               " or not: set its retention.ms and retention.bytes to -1"}});
}

void Worker::tell_hidden(const std::string& topic) {
  if (!told_topics_.insert(topic).second) return;
  log_.warning("topic_settings_hidden",
               {{"worker", spec_.name},
                {"topic", topic},
                {"why",
                 "we may not read its settings: messages that wait are not handed over before its retention deletes"
                 " them"}});
}

TopicSpec Worker::dlq_spec(const std::string& name, const TopicSpec& source) const {
  const DlqProvision provision = spec_.provision ? spec_.provision(name) : DlqProvision{};
  TopicSpec out = topic_spec(name, provision.partitions > 0 ? provision.partitions : source.partitions);
  out.retention = provision.retention;
  out.forever = !provision.retention;
  out.replicas = provision.replicas;
  out.beside_replicas = source.replicas;
  out.in_step = source.in_step;
  out.compression = provision.compression;
  out.max_message = std::max(provision.max_message, source.max_message + 65536);  // the message and its story
  return out;
}

// A topic may grow while it is read: its journal, its dead letter topic and its lane grow with it. One of these that
// was deleted is made again.
void Worker::follow_growth(Now now) {
  if (now.steady < next_growth_look_) return;
  next_growth_look_ = now.steady + kGrowthLook;
  const auto owned = pump_->partitions();
  const bool grown = std::ranges::any_of(owned, [this](const auto& one) {
    const auto known = partitions_.find(one.second.topic);
    return known != partitions_.end() && one.second.partition.v >= known->second;
  });
  const bool missing = topics_missing_;
  if (!grown && !missing) return;
  auto sources = sources_;
  auto lanes = lanes_;
  if (make_topics()) {
    trouble_.clear();
    topics_missing_ = false;
    if (missing) next_growth_look_ = clock_.now().steady + kGrowthAgain;  // what is refused may be somebody else's
    log_.info(grown ? "topics_grown" : "topics_made_again", {{"worker", spec_.name}});
  } else {
    sources_ = std::move(sources);
    lanes_ = std::move(lanes);
    next_growth_look_ = clock_.now().steady + kGrowthAgain;
  }
}

// The private lane: its letters go where the topic's go; its journal is its own, for its offsets are.
void Worker::add_lane(const SourceTopic& source, const TopicWords& words, const TopicSpec& topic,
                      std::vector<TopicSpec>& wanted) {
  const std::string lane = topic_name(spec_.replay_topic, words);
  SourceTopic made = source;
  made.traits = {kLaneRetention, std::nullopt, false, topic.max_message + 65536};
  made.journal = topic_name(spec_.journal, {lane, spec_.group, spec_.name, spec_.cluster});
  wanted.push_back(beside(topic, lane));
  wanted.back().retention = kLaneRetention;
  wanted.back().max_message = topic.max_message + 65536;  // the header that makes it a replay
  wanted.push_back(beside(topic, made.journal));
  wanted.back().compacted = true;
  wanted.back().max_message = journal_message(topic.max_message + 65536);
  lanes_.push_back(lane);
  sources_[lane] = std::move(made);
}

// Whoever emits to a topic for the first time makes it, as whoever sends does, where topics are made by themselves.
// What cannot be made is refused by the write, and tried again.
void Worker::look_at_emitted(Decision& decision) {
  const auto kept = std::ranges::find_if(decision.emit, [this](const Record& record) { return keeps(record.topic); });
  if (kept != decision.emit.end()) {
    Decision refused;
    refused.fate = Fate::kRetry;
    refused.kind = Kind::kConfig;
    refused.error = {"EmitRefused", kept->topic + " is a topic of Bartleby's own, which takes no messages", ""};
    decision = std::move(refused);
    return;
  }
  if (spec_.new_topic_partitions == 0) return;
  for (const Record& record : decision.emit) {
    if (emitted_topics_.contains(record.topic)) continue;
    if (emitted_topics_.size() >= kMaxEmittedTopics) emitted_topics_.clear();
    auto there = broker_.describe(record.topic);
    if (!there && there.error().code == ErrorCode::kNotFound) {
      if (auto made = broker_.ensure_topics({topic_spec(record.topic, spec_.new_topic_partitions)}); made)
        log_.info("topic_created", {{"topic", record.topic}, {"partitions", spec_.new_topic_partitions}});
      else
        log_.warning("topic_not_created", {{"topic", record.topic}, {"why", made.error().message}});
      there = broker_.describe(record.topic);
    }
    if (there) emitted_topics_.insert(record.topic);
  }
}

}  // namespace bartleby
