#include "tests/sim/rig.h"

#include <algorithm>
#include <string>

namespace bartleby::sim {
namespace {

const std::string kGroup = "g";
const std::string kSource = "src";
const std::string kJournal = "src.parked.g";
const std::string kDlq = "src.dlq";

TopicSpec spec(const std::string& name, std::int32_t partitions) {
  return {.name = name, .partitions = partitions, .retention = {}, .retention_bytes = {}};
}

}  // namespace

// ---- a worker ------------------------------------------------------------------------------------------

Worker::Worker(Rig& rig, const std::string& instance, EngineConfig engine) : rig_(rig) {
  member_ =
      rig.cluster.join_sim({.group = kGroup, .topics = {kSource}, .instance = instance, .session = Duration(1000)});
  PumpConfig c;
  c.engine = std::move(engine);
  c.cluster = "sim";
  c.group = kGroup;
  c.worker = "w";
  c.instance = instance;
  SourceTopic topic;
  topic.journal = kJournal;
  topic.dlq = {kDlq, 1, rig.options_.letter_part};
  if (rig.options_.retention_bytes > 0) topic.traits.retention_bytes = rig.options_.retention_bytes;
  topic.traits.retention = rig.options_.retention;
  c.topics[kSource] = topic;
  c.admit = [&rig](const std::string&, const LogRecord& record) {
    Admission a;
    if (!record.value) return a;
    if (rig.options_.cases > 1 && record.value->starts_with("case"))
      a.case_id = static_cast<std::uint16_t>(std::stoul(record.value->substr(4)));
    if (*record.value == "malformed") a.refuse = Reason::kMalformed;
    a.skip = *record.value == rig.skipped;
    return a;
  };
  pump_ = std::make_unique<Pump>(
      std::move(c), *member_,
      [this](const Run& run, std::span<const RunMessage> messages) {
        BARTLEBY_ASSERT(messages.size() == 1);
        const RunMessage& m = messages.front();
        running_.push_back(
            {id(), *m.tp, m.record->offset.v, run.attempt, run.alone, rig_.scheduler.now(), run.token, m.keep()});
        rig_.history.push_back(running_.back());
      },
      [this](const Alarm& alarm, const TopicPartition*) { rig_.alarms.push_back(alarm); });
}

void Worker::begin() {
  member_->on_ready([this] { plan(rig_.scheduler.now()); });
  plan(rig_.scheduler.now());
}

void Worker::plan(Instant when) {
  if (!pump_ || wake_ <= when) return;
  wake_ = when;
  rig_.scheduler.at(when, [weak = weak_from_this(), when] {
    const auto self = weak.lock();
    if (!self || !self->pump_ || self->wake_ != when) return;
    self->wake_ = kNever;
    self->turn();
  });
}

void Worker::turn() {
  pump_->turn(rig_.scheduler.both());
  if (pump_->failed()) {  // shut out: the process would begin anew
    failed_ = true;
    return crash();
  }
  if (pump_->stopped()) {
    member_->leave();
    running_.clear();
    pump_.reset();
    return;
  }
  if (const Instant next = pump_->next_wakeup(); next != kNever) plan(std::max(next, rig_.scheduler.now()));
}

void Worker::begin_stop() {
  pump_->tell(StopIn{});
  plan(rig_.scheduler.now());
}

void Worker::crash() {
  if (!pump_) return;
  rig_.cluster.kill(*member_);
  running_.clear();
  pump_.reset();
}

const PartitionEngine* Worker::partition(std::int32_t partition) const {
  for (const auto& [index, p] : engine().partitions())
    if (const TopicPartition* tp = pump_->where(p->ref()); tp != nullptr && tp->partition.v == partition)
      return p.get();
  return nullptr;
}

const Started* Worker::at(std::int64_t offset) const {
  const auto found = std::ranges::find(running_, offset, &Started::offset);
  return found == running_.end() ? nullptr : &*found;
}

bool Worker::at_all(const std::vector<std::int64_t>& offsets) const {
  return std::ranges::all_of(offsets, [this](std::int64_t offset) { return at(offset) != nullptr; });
}

void Worker::answer(std::int64_t offset, std::optional<Decision> decision) {
  const Started* started = at(offset);
  BARTLEBY_ASSERT(started != nullptr && pump_);
  const bool plain = !decision.has_value();
  pump_->handled({started->token, plain ? 1u : 0u, std::move(decision)});
  std::erase_if(running_, [offset](const Started& s) { return s.offset == offset; });
  plan(rig_.scheduler.now());
}

void Worker::give_back(std::int64_t offset) {
  const Started* started = at(offset);
  BARTLEBY_ASSERT(started != nullptr && pump_);
  pump_->handled({started->token, 0, std::nullopt});
  std::erase_if(running_, [offset](const Started& s) { return s.offset == offset; });
  plan(rig_.scheduler.now());
}

void Worker::fails(std::int64_t offset, const std::string& error) {
  Decision d;
  d.fate = Fate::kRetry;
  d.error = {"Error", error, ""};
  answer(offset, std::move(d));
}

void Worker::reject(std::int64_t offset) {
  Decision d;
  d.fate = Fate::kReject;
  d.kind = Kind::kPermanent;
  d.error = {"Error", "rejected", ""};
  answer(offset, std::move(d));
}

void Worker::order(ParkedOrder::What what) {
  pump_->tell(ParkedOrder{.what = what, .ref = {}, .offset = {}, .kind = {}});
  plan(rig_.scheduler.now());
}

void Worker::change(const EngineConfig& engine) {
  pump_->tell(SettingsIn{std::make_shared<const LiveSettings>(engine)});
  plan(rig_.scheduler.now());
}

// ---- the rig -------------------------------------------------------------------------------------------

Rig::Rig(RigOptions options)
    : scheduler(options.seed),
      cluster(scheduler,
              {.latency_min = Duration(1), .latency_max = Duration(1), .transaction_timeout = Duration(20000)}),
      options_(options) {
  engine.guard.reset();
  engine.max_stretch = 1;
  engine.writer_room = 0;
  engine.cases[0].max_attempts = 3;
  engine.cases[0].backoff = Schedule{{Duration(10000)}};
  TopicSpec journal = spec(kJournal, options.partitions);
  journal.compacted = true;
  TopicSpec dlq = spec(kDlq, 1);
  dlq.max_message = options.dlq_message;
  BARTLEBY_ASSERT(cluster.ensure_topics(
      {spec(kSource, options.partitions), journal, dlq, spec("out", 1), spec("bartleby.outcomes", 1)}));
  std::vector<CommittedOffset> first;
  for (std::int32_t p = 0; p < options.partitions; ++p) first.push_back({{kSource, Partition(p)}, Offset(0), ""});
  BARTLEBY_ASSERT(cluster.commit_first(kGroup, first));
  cluster.on_write_committed([this](const std::string&, const Write& write) {
    writes.push_back(write);
    std::map<std::string, std::vector<LogRecord>> parts;
    for (const Record& r : write.records) {
      if (r.topic != kDlq) continue;
      std::string id;
      for (const auto& [name, value] : r.headers)
        if (name == "bartleby-letter") id = value.value_or("");
      parts[id].push_back({Offset(0), scheduler.wall(), r.key, r.value, r.headers});
    }
    for (const auto& [id, records] : parts) {
      auto letter = join_letter(records);
      BARTLEBY_ASSERT(letter);
      letters.push_back(std::move(*letter));
    }
  });
}

Rig::~Rig() {
  for (const auto& worker : workers_) worker->crash();
}

std::int64_t Rig::produce(const Bytes& key, const std::string& value, std::int32_t partition) {
  return cluster.append({kSource, Partition(partition), key, value, {}}).second.v;
}

void Rig::produce_all(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) produce(key);
}

Worker& Rig::start(const std::string& instance) {
  workers_.push_back(std::make_shared<Worker>(*this, instance, engine));
  workers_.back()->begin();
  return *workers_.back();
}

void Rig::stop(Worker& worker) {
  worker.begin_stop();
  BARTLEBY_ASSERT(wind_until([&] { return !worker.up(); }));
}

bool Rig::wind_until(const std::function<bool()>& happened, Duration limit) {
  const Instant end = scheduler.now() + limit;
  const std::uint64_t most = scheduler.steps() + 5'000'000;
  while (!happened())
    if (scheduler.steps() > most || !scheduler.step_until(end)) return happened();
  return true;
}

bool Rig::until_at(const Worker& worker, std::int64_t offset) {
  return wind_until([&] { return worker.at(offset) != nullptr; });
}

Offset Rig::low(std::int32_t partition) const {
  const auto found = cluster.committed(kGroup, {kSource, Partition(partition)});
  return found && found->offset ? *found->offset : Offset(-1);
}

DecodedMetadata Rig::metadata(std::int32_t partition) const {
  const auto found = cluster.committed(kGroup, {kSource, Partition(partition)});
  BARTLEBY_ASSERT(found && found->offset);
  return decode_metadata(found->metadata, *found->offset);
}

std::map<std::string, DecodedEntry> Rig::journal(std::int32_t partition) const {
  std::map<std::string, DecodedEntry> live;
  for (const LogEntry& e : cluster.log({kJournal, Partition(partition)}).entries()) {
    if (e.state != EntryState::kCommitted) continue;
    if (!e.record.value) {
      live.erase(*e.record.key);
      continue;
    }
    auto decoded = decode_journal(*e.record.key, *e.record.value);
    BARTLEBY_ASSERT(decoded);
    live.insert_or_assign(*e.record.key, std::move(*decoded));
  }
  return live;
}

const MessageEntry* Rig::entry(std::int64_t offset, std::int32_t partition) const {
  seen_ = journal(partition);
  const auto found = seen_.find("m/" + std::to_string(offset));
  return found == seen_.end() ? nullptr : std::get_if<MessageEntry>(&found->second.entry);
}

void Rig::write_journal(const JournalEntry& entry, const JournalStory& story, std::int32_t partition) {
  cluster.append({kJournal, Partition(partition), journal_key(entry), journal_value(entry, story), {}});
}

std::size_t Rig::runs_of(std::int64_t offset) const {
  return static_cast<std::size_t>(std::ranges::count(history, offset, &Started::offset));
}

std::vector<std::int64_t> Rig::order() const {
  std::vector<std::int64_t> offsets;
  for (const Started& s : history) offsets.push_back(s.offset);
  return offsets;
}

bool Rig::alarmed(AlarmType type) const { return std::ranges::find(alarms, type, &Alarm::type) != alarms.end(); }

std::size_t Rig::room_for_heads(std::size_t heads) {
  CommitMetadata m;
  m.writer = std::string("bartleby.g.a.0123456789abcdef");
  m.check = JournalCheck{UINT64_MAX, UINT64_MAX};
  m.log = 1;
  MetadataBudget budget(m, Offset(0), kMaxMetadata);
  for (std::size_t i = 0; i < heads; ++i) budget.add({Offset(static_cast<std::int64_t>(i)), Lane(1)});
  return budget.characters() + 2;  // not enough for one more
}

std::string went_wrong(const char* what, int line) { return std::string(what) + ", line " + std::to_string(line); }

}  // namespace bartleby::sim
