#include "office/intake_runner.h"

#include <algorithm>

#include "base/thread_name.h"
#include "ports/log_look.h"
#include "ports/topic_ids.h"

namespace bartleby {
namespace {

constexpr Duration kEndsLimit{1000};                     // for the ends of all dlqs together
constexpr std::string_view kWithoutIds = "without-ids";  // noted of logs whose broker tells none, and no id of any

}  // namespace

IntakeRunner::IntakeRunner(Broker& broker, Store& store, Log& log, const Clock& clock, IntakeOptions options,
                           Heard heard)
    : broker_(broker),
      log_(log),
      clock_(clock),
      options_(std::move(options)),
      heard_(std::move(heard)),
      take_in_(store, options_.cluster, options_.sinks_of, options_.source_of, options_.most_shelves),
      intake_(options_.cluster, options_.limits) {}

IntakeRunner::~IntakeRunner() { stop(); }

void IntakeRunner::start() {
  thread_ = std::thread([this] { work(); });
}

void IntakeRunner::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

IntakeCounts IntakeRunner::counts() const {
  const std::lock_guard lock(mutex_);
  IntakeCounts counts = counts_;
  for (const auto& [what, trouble] : troubles_)
    if (!counts.trouble || trouble.since < counts.trouble->since) counts.trouble = trouble;
  return counts;
}

void IntakeRunner::work() {
  name_thread("intake");
  for (;;) {
    const bool busy = round();
    std::unique_lock lock(mutex_);
    counts_.lag = intake_.lag();
    if (stopping_) break;
    if (busy) continue;
    Instant until = std::min(intake_.next_wake(), next_discovery_);
    if (!to_show_.empty()) until = std::min(until, next_show_);
    const Duration wait = until - clock_.now().steady;
    wake_.wait_for(lock, clock_.real(wait), [&] { return stopping_; });
    if (stopping_) break;
  }
  // A broker that did not take them a moment ago is not waited for.
  if (shown_badly_.empty()) next_show_ = Instant{}, show_positions();
}

void IntakeRunner::run_until_idle() {
  while (round()) {
  }
}

bool IntakeRunner::round() {
  const Instant now = clock_.now().steady;
  if (now >= next_discovery_) find_dlqs(events_);
  std::vector<IntakeCommand> commands;
  intake_.step(std::exchange(events_, {}), now, commands);
  const bool any = !commands.empty();
  look_at_ends(commands);
  for (IntakeCommand& command : commands)
    events_.push_back(std::visit([&](auto& one) { return carry_out(one); }, command));
  return show_positions() || any;
}

void IntakeRunner::moved(const TopicPartition& dlq, Offset to) {
  if (options_.passed) options_.passed(dlq, to);
  if (options_.group_of && !options_.group_of(dlq.topic).empty()) to_show_[dlq] = to;
}

// For others to look at, after the letters are stored: what is not committed now is committed with the next, and
// nothing here is ever read back.
bool IntakeRunner::show_positions() {
  const Instant now = clock_.now().steady;
  if (to_show_.empty() || now < next_show_) return false;
  next_show_ = now + options_.show;
  std::map<std::string, std::vector<CommittedOffset>> by_group;
  for (const auto& [dlq, at] : to_show_) by_group[options_.group_of(dlq.topic)].push_back({dlq, at, ""});
  by_group.erase("");  // it was, until the configuration was read again
  for (const auto& [group, offsets] : by_group) {
    const auto committed = broker_.commit_first(group, offsets);
    if (committed) {
      shown_badly_.erase(group);
    } else if (std::string& why = shown_badly_[group]; why != committed.error().message) {
      why = committed.error().message;
      log_.warning("intake_group_not_committed", {{"group", group}, {"why", why}});
    }
  }
  if (shown_badly_.empty())
    to_show_.clear();
  else
    next_show_ = now + 30 * options_.show;
  return shown_badly_.empty();
}

void IntakeRunner::find_dlqs(std::vector<IntakeEvent>& events) {
  next_discovery_ = clock_.now().steady + options_.discover;
  auto* look = dynamic_cast<LogLook*>(&broker_);
  auto topics = look == nullptr ? broker_.topics() : look->topic_names();
  if (!topics) return complain({}, "listing topics", topics.error());
  std::erase_if(*topics, [&](const TopicSpec& topic) { return !options_.dlq_class(topic.name); });
  if (const auto read = read_ids(*topics); !read) return complain({}, "listing topics", read.error());
  went_well({}, "listing topics");
  for (const TopicSpec& topic : *topics) {
    const auto dlq_class = options_.dlq_class(topic.name);
    if (!dlq_class) continue;
    const auto known_as = known_.find(topic.name);
    if (known_as == known_.end() || known_as->second != *dlq_class) {
      if (auto known = take_in_.know_dlq(topic.name, *dlq_class, clock_.now().wall); !known) {
        complain({topic.name, Partition(0)}, "opening", known.error());
        continue;
      }
      went_well({topic.name, Partition(0)}, "opening");
      if (known_as == known_.end())
        log_.info("dlq_consumer_started", {{"dlq", topic.name}, {"partitions", topic.partitions}});
      known_[topic.name] = *dlq_class;
    }
    for (std::int32_t p = 0; p < topic.partitions; ++p) events.push_back(DlqFound{{topic.name, Partition(p)}});
  }
}

// Before anything of a dlq is read: what was read of an unknown log could not be told from another one's later. Where
// topics have no ids, that is what is noted: a position from there is none in a log of another broker.
Result<void> IntakeRunner::read_ids(const std::vector<TopicSpec>& dlqs) {
  auto* broker = dynamic_cast<TopicIds*>(&broker_);
  if (broker == nullptr) {
    for (const TopicSpec& dlq : dlqs) ids_[dlq.name] = kWithoutIds;
    return {};
  }
  std::vector<std::string> names;
  for (const TopicSpec& dlq : dlqs) names.push_back(dlq.name);
  auto ids = broker->topic_ids(names);
  if (!ids) return std::unexpected(ids.error());
  std::erase_if(read_out_, [&](const auto& one) { return (*ids)[one.first.topic] != ids_[one.first.topic]; });
  ids_ = std::move(*ids);
  return {};
}

IntakeEvent IntakeRunner::carry_out(ReadPosition& command) {
  auto position = take_in_.position(command.dlq);
  if (!position) {
    complain(command.dlq, "reading the position", position.error());
    return PositionRead{command.dlq, false, {}};
  }
  went_well(command.dlq, "reading the position");
  moved(command.dlq, position->value_or(IntakePosition{}).next);
  return PositionRead{command.dlq, true, *position};
}

// Most dlqs are quiet most of the time: where a broker across a network tells the ends of many logs at once, that is
// all it is asked. A range that was read to its end and still ends there is answered as it was.
void IntakeRunner::look_at_ends(std::vector<IntakeCommand>& commands) {
  auto* look = dynamic_cast<LogLook*>(&broker_);
  std::vector<TopicPartition> dlqs;
  for (const IntakeCommand& command : commands)
    if (const auto* read = std::get_if<ReadDlq>(&command)) dlqs.push_back(read->dlq);
  if (look == nullptr || dlqs.empty()) return;
  const auto ends = look->ends(dlqs, kEndsLimit);
  std::erase_if(commands, [&](const IntakeCommand& command) {
    const auto* read = std::get_if<ReadDlq>(&command);
    if (read == nullptr) return false;
    const auto end = ends.find(read->dlq);
    const auto before = read_out_.find(read->dlq);
    if (end == ends.end()) {  // asked for by itself, it would keep all the others waiting
      complain(read->dlq, "reading", Error{ErrorCode::kUnavailable, "its leader does not answer"});
      events_.push_back(DlqRead{read->dlq, false, Offset(0), Offset(0), {}});
      return true;
    }
    if (before == read_out_.end() || before->second.second != end->second || read->from != end->second) return false;
    events_.push_back(DlqRead{read->dlq, true, before->second.first, before->second.second, {}, ids_[read->dlq.topic]});
    return true;
  });
}

// The range is asked for first: a record that is deleted in between is then missed by the next read, not skipped.
IntakeEvent IntakeRunner::carry_out(ReadDlq& command) {
  DlqRead answer{command.dlq, false, Offset(0), Offset(0), {}};
  const auto range = broker_.log_range(command.dlq);
  if (!range) {
    complain(command.dlq, "reading", range.error());
    return answer;
  }
  auto records = broker_.read(command.dlq, std::max(command.from, range->first), command.records, command.bytes);
  if (!records) {
    complain(command.dlq, "reading", records.error());
    return answer;
  }
  went_well(command.dlq, "reading");
  if (records->empty() && command.from == range->second)
    read_out_[command.dlq] = *range;
  else
    read_out_.erase(command.dlq);
  return DlqRead{command.dlq, true, range->first, range->second, std::move(*records), ids_[command.dlq.topic]};
}

// Somebody must look at a letter; at one about money now.
void IntakeRunner::tell(const std::string& dlq, const IntakeReport& report) {
  const bool financial = options_.dlq_class(dlq) == DlqClass::kFinancial;
  log_.write(financial ? LogLevel::kError : LogLevel::kWarning, "letter_arrived",
             {{"dlq", dlq},
              {"severity", financial ? "CRITICAL" : "WARNING"},
              {"letters", report.stored},
              {"came_back", report.came_back}});
}

// What lay in the old one and was not taken in is gone, and nobody knows how much it was.
void IntakeRunner::tell_anew(const IntakeBatch& batch) {
  if (!batch.before) return;
  const bool another = !batch.before->log_id.empty() && batch.before->log_id != batch.after.log_id;
  if (!another && batch.after.done_to >= batch.before->done_to) return;
  log_.warning("dlq_made_anew",
               {{"dlq", batch.dlq.topic},
                {"partition", batch.dlq.partition.v},
                {"taken_in_to", batch.before->done_to.v},
                {"why", "it was deleted and made anew, or lies on another broker; it is read from its beginning"}});
}

IntakeEvent IntakeRunner::carry_out(StoreBatch& command) {
  const IntakeBatch& batch = command.batch;
  auto report = take_in_.store(batch, clock_.now().wall);
  if (!report) {
    complain(batch.dlq, "storing", report.error());
    return BatchStored{batch.dlq, false};
  }
  went_well(batch.dlq, "storing");
  {
    const std::lock_guard lock(mutex_);
    counts_.stored += report->stored;
    counts_.came_back += report->came_back;
    counts_.duplicates += report->duplicates;
    counts_.incidents += report->incidents;
    counts_.overflowed += report->overflowed;
    counts_.missed += static_cast<std::uint64_t>(batch.missed);
  }
  tell_anew(batch);
  if (report->stored + report->came_back > 0) tell(batch.dlq.topic, *report);
  if (batch.missed > 0)
    log_.error("letters_missed", {{"dlq", batch.dlq.topic},
                                  {"partition", batch.dlq.partition.v},
                                  {"records", batch.missed},
                                  {"why", "the dlq's retention deleted them before they were read"}});
  if (report->incidents > 0) log_.error("letter_id_taken", {{"dlq", batch.dlq.topic}, {"letters", report->incidents}});
  if (report->overflowed > 0 && overflowing_.insert(batch.dlq.topic).second)
    log_.error("too_many_shelves",
               {{"dlq", batch.dlq.topic},
                {"letters", report->overflowed},
                {"why",
                 "letters come from too many combinations of dlq, topic, group, worker and reason: something"
                 " writes names that change. From now on they are kept without theirs, as of the group other"}});
  moved(batch.dlq, batch.after.next);
  if (heard_) heard_(batch.dlq.topic, *report);
  return BatchStored{batch.dlq, true};
}

void IntakeRunner::complain(const TopicPartition& dlq, std::string_view doing, const Error& error) {
  log_.warning("intake_failed",
               {{"dlq", dlq.topic}, {"partition", dlq.partition.v}, {"doing", doing}, {"error", error.message}});
  const std::lock_guard lock(mutex_);
  ++counts_.failures;
  if (error.code == ErrorCode::kNotFound) {  // a topic that is gone keeps nothing from being taken in
    std::erase_if(troubles_, [&](const auto& one) { return one.first.first == dlq; });
    return;
  }
  IntakeTrouble& trouble = troubles_[{dlq, std::string(doing)}];
  if (trouble.doing.empty()) trouble = {dlq.topic, std::string(doing), {}, clock_.now().wall, 0};
  trouble.error = error.message;
  ++trouble.times;
}

// Step by step: while storing fails, the position and the records are read again and again, and well.
void IntakeRunner::went_well(const TopicPartition& dlq, std::string_view doing) {
  const std::lock_guard lock(mutex_);
  if (!troubles_.empty()) troubles_.erase({dlq, std::string(doing)});
}

}  // namespace bartleby
