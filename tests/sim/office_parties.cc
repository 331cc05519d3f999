// Who else is there beside the office: producers of dead letters, retention, workers.
#include <algorithm>

#include "tests/sim/office_world.h"

namespace bartleby::sim {
namespace {

constexpr std::size_t kPartBytes = 400;

// Bytes that do not compress well, so that a letter has several parts.
std::string long_value(Random& random, std::size_t size) {
  std::string value;
  while (value.size() < size) value += static_cast<char>('!' + random.below(90));
  return value;
}

}  // namespace

// ---- Producers ---------------------------------------------------------------------------------------

// Where topics have no ids, a dlq that was made anew gets nothing before intake has noticed: a log that has grown past
// the old position cannot be told from the old one.
bool OfficeWorld::may_write(const OfficeGroup& group) const {
  if (tells_ids_) return true;
  for (std::int32_t i = 0; i < group.dlq_partitions; ++i)
    if (!checker_->noticed({group.dlq, Partition(i)})) return false;
  return true;
}

void OfficeWorld::produce() {
  if (letters_left_ > 0 && random().chance(60)) {
    for (std::int64_t i = random().between(1, 6); i > 0 && letters_left_ > 0; --i, --letters_left_) one_dies();
  }
  if (copies_ && random().chance(25)) copy_something();
}

void OfficeWorld::one_dies() {
  const OfficeGroup& group = any(groups_);
  if (!may_write(group)) return;
  if (random().chance(6)) {
    const auto [tp, at] = cluster_.append({group.dlq, std::nullopt, "k", "no letter of ours", {{"h", std::nullopt}}});
    return note("no letter at " + tp.topic + ":" + std::to_string(at.v));
  }
  const std::uint64_t key = random().below(4);
  LetterFacts facts;
  facts.cluster = kOfficeCluster;
  facts.topic = group.topic;
  facts.partition = Partition(static_cast<std::int32_t>(key) % group.partitions);
  facts.offset = Offset(100000 + origins_[{group.topic, facts.partition}]++);
  facts.timestamp = scheduler_.wall();
  facts.group = group.name;
  facts.worker = group.name;
  facts.instance = "i1";
  facts.reason = Reason::kExhausted;
  facts.attempts = 3;
  facts.first_failure = facts.last_failure = scheduler_.wall();
  const std::string type = "Error" + std::to_string(random().below(3));
  facts.error = {type, "no answer from shop", ""};
  LogRecord record{facts.offset, facts.timestamp, std::string(group.topic + "-k" + std::to_string(key)), "{}", {}};
  if (random().chance(10)) record.key.reset();
  if (random().chance(10)) record.value.reset();
  if (random().chance(30)) record.headers.emplace_back("kafka_dlt-exception-message", "earlier");
  if (random().chance(30)) record.headers.emplace_back("tenant", "acme");
  if (parts_ && random().chance(40))
    record.value = long_value(random(), static_cast<std::size_t>(random().between(300, 2500)));
  checker_->born(message_id(facts), letter_id(facts), facts.offset);
  write_letter(group, facts, record);
}

void OfficeWorld::write_letter(const OfficeGroup& group, const LetterFacts& facts, const LogRecord& record) {
  const bool large = record.value && record.value->size() > 300;
  const LetterForm form = large                 ? random().chance(80) ? LetterForm::kParts : LetterForm::kCompressed
                          : random().chance(20) ? LetterForm::kCompressed
                                                : LetterForm::kWhole;
  std::vector<Record> records = letter_records(facts, record, form, {group.dlq, group.dlq_partitions, kPartBytes});
  note("dies: " + letter_id(facts) + " of " + group.name + " in " + std::to_string(records.size()));
  // Somebody who is no worker of ours: a part that never comes, or parts of two letters among each other.
  if (records.size() > 1 && random().chance(8)) records.erase(records.begin() + static_cast<long>(random().below(2)));
  if (records.size() > 1 && random().chance(30) && written_.size() > 1 && any(written_).front().topic == group.dlq) {
    const std::vector<Record> other = any(written_);
    if (other.front().topic == group.dlq)
      for (std::size_t i = 0; i < other.size(); ++i)
        records.insert(records.begin() + static_cast<long>(std::min(2 * i + 1, records.size())), other[i]);
  }
  for (const Record& one : records) cluster_.append(one);
  written_.push_back(std::move(records));
}

// A writer without transactions, or one that people made write again.
void OfficeWorld::copy_something() {
  if (written_.empty()) return;
  const std::vector<Record> records = any(written_);
  for (const OfficeGroup& group : groups_)
    if (group.dlq == records.front().topic && !may_write(group)) return;
  note("a copy in " + records.front().topic);
  for (const Record& one : records) cluster_.append(one);
}

void OfficeWorld::trouble_dlqs() {
  const OfficeGroup& group = any(groups_);
  if (denied_ && random().chance(15)) {
    const bool denied = random().chance(50);
    const std::string& topic = group.lane.empty() || random().chance(50) ? group.topic : group.lane;
    cluster_.deny(topic, denied);
    note((denied ? "denied: " : "allowed: ") + topic);
  }
  if (retention_ && random().chance(15)) {
    const TopicPartition tp{group.dlq,
                            Partition(static_cast<std::int32_t>(random().between(0, group.dlq_partitions - 1)))};
    const PartitionLog& log = cluster_.log(tp);
    if (!checker_->noticed(tp) || log.start() == log.high_watermark()) return;
    const Offset to(random().between(log.start().v, log.high_watermark().v));
    cluster_.delete_before(tp, to);
    note("retention: " + tp.topic + "/" + std::to_string(tp.partition.v) + " below " + std::to_string(to.v));
  }
  if (new_topics_ && random().chance(6) && may_write(group)) {
    cluster_.recreate(group.dlq);
    for (std::int32_t i = 0; i < group.dlq_partitions; ++i) checker_->made_anew({group.dlq, Partition(i)});
    note("made anew: " + group.dlq);
  }
}

// ---- Workers -----------------------------------------------------------------------------------------

void OfficeWorld::work() {
  for (const OfficeGroup& group : groups_) {
    if (!healing_ && random().chance(slow_workers_ ? 90 : 30)) continue;
    for (const std::string& topic : {group.topic, group.lane})
      for (std::int32_t i = 0; !topic.empty() && i < group.partitions; ++i) work_on(group, {topic, Partition(i)});
  }
  if (!healing_ && again_ && random().chance(20)) handle_again();
  if (!healing_ && copies_ && !outcomes_.empty() && random().chance(20)) {
    coverage_.saw(OfficeSeen::kOldOutcome);
    cluster_.append(any(outcomes_));
  }
}

void OfficeWorld::work_on(const OfficeGroup& group, const TopicPartition& tp) {
  const auto committed = cluster_.committed("work-" + group.name, tp);
  Offset at = committed && committed->offset ? *committed->offset : Offset(0);
  const auto records = cluster_.read(tp, at, healing_ ? 1000 : random().below(5), 1 << 20);
  for (const LogRecord& record : *records) {
    if (!answer(group, tp, record, at)) return;
    at = next(record.offset);
  }
}

LetterFacts OfficeWorld::died_again(const OfficeGroup& group, const TopicPartition& tp, const LogRecord& record,
                                    const ReplayMark& mark) {
  LetterFacts facts;
  facts.cluster = kOfficeCluster;
  facts.topic = tp.topic;
  facts.partition = tp.partition;
  facts.offset = record.offset;
  facts.timestamp = record.timestamp;
  facts.group = group.name;
  facts.worker = group.name;
  facts.instance = "i2";
  facts.lineage = mark.lineage;
  facts.replays = mark.replays;
  facts.reason = Reason::kExhausted;
  facts.attempts = 3;
  facts.first_failure = facts.last_failure = scheduler_.wall();
  facts.error = {"Error" + std::to_string(random().below(3)), "no answer from shop", ""};
  return facts;
}

// False: it could not be written, and is handled again later.
bool OfficeWorld::answer(const OfficeGroup& group, const TopicPartition& tp, const LogRecord& record, Offset from) {
  const Cursor cursor{"work-" + group.name, tp, from, next(record.offset)};
  const auto mark = replay_mark(record, {key_}, tp.topic);
  if (!mark || mark->group != group.name) return cluster_.produce_with({}, cursor).has_value();
  const bool dies = random().chance(dies_);
  if (dies && !may_write(group)) return false;
  const Verdict verdict = dies ? Verdict::kDead : random().chance(10) ? Verdict::kSkipped : Verdict::kApplied;
  const std::string value = outcome_value({mark->letter, mark->replays, verdict, scheduler_.wall()});
  std::vector<Record> out{{kOutcomesTopic, std::nullopt, mark->letter, value, {}}};
  if (dies) {
    const bool large = record.value && record.value->size() > 300;
    const auto letter =
        letter_records(died_again(group, tp, record, *mark), record, large ? LetterForm::kParts : LetterForm::kWhole,
                       {group.dlq, group.dlq_partitions, kPartBytes});
    out.insert(out.end(), letter.begin(), letter.end());
  }
  const auto written = cluster_.produce_with(out, cursor);
  note("handled: " + mark->letter + " life " + std::to_string(mark->replays) + (dies ? " died" : " done") +
       (written ? "" : ", not answered"));
  if (!written) return false;
  outcomes_.push_back(out.front());
  if (dies)
    written_.emplace_back(out.begin() + 1, out.end());
  else
    handled_.push_back({&group, tp, record, *mark});
  return true;
}

// Somebody moved the offsets back: what was handled runs again, and dies this time.
void OfficeWorld::handle_again() {
  if (handled_.empty()) return;
  const std::size_t which = random().below(handled_.size());
  const Handled one = handled_[which];
  if (!may_write(*one.group)) return;
  handled_.erase(handled_.begin() + static_cast<long>(which));
  const std::string value = outcome_value({one.mark.letter, one.mark.replays, Verdict::kDead, scheduler_.wall()});
  std::vector<Record> out = letter_records(died_again(*one.group, one.tp, one.record, one.mark), one.record,
                                           LetterForm::kWhole, {one.group->dlq, one.group->dlq_partitions, kPartBytes});
  out.push_back({kOutcomesTopic, std::nullopt, one.mark.letter, value, {}});
  note("handled again: " + one.mark.letter + " life " + std::to_string(one.mark.replays) + " died");
  for (const Record& record : out) cluster_.append(record);
}

}  // namespace bartleby::sim
