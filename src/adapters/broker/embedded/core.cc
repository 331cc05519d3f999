#include "adapters/broker/embedded/core.h"

#include <cstdio>
#include <filesystem>
#include <random>

#include "adapters/broker/embedded/embedded_member.h"
#include "base/assert.h"
#include "codec/murmur2.h"

namespace bartleby::embedded {

std::size_t utf16_units(const std::string& utf8) {
  std::size_t units = 0;
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xc0) != 0x80) units += byte >= 0xf0 ? 2 : 1;
  }
  return units;
}

// ---- Opening and closing -----------------------------------------------------------------------------

Result<std::shared_ptr<Core>> Core::open(Options options) {
  if (!options.clock) options.clock = machine_clock();
  std::error_code failed;
  if (std::filesystem::create_directories(options.folder, failed))  // else it is somebody's who chose its mode
    std::filesystem::permissions(options.folder, std::filesystem::perms::owner_all, failed);
  if (failed) return fail(ErrorCode::kUnavailable, options.folder + ": cannot make this folder: " + failed.message());
  auto lock = LockFile::take(options.folder + "/log.lock");
  if (!lock) return std::unexpected(lock.error());
  auto file = LogFile::open(options.folder + "/log.db", options.max_pages);
  if (!file) return std::unexpected(file.error());
  const auto topics = file->topics();
  if (!topics) return std::unexpected(topics.error());
  const auto offsets = file->offsets();
  if (!offsets) return std::unexpected(offsets.error());
  auto core = std::make_shared<Core>(std::move(options), std::move(*lock), std::move(*file));
  core->load(*topics, *offsets);
  core->writer_->start();
  return core;
}

Core::Core(Options options, LockFile lock, LogFile file)
    : options_(std::move(options)), lock_(std::move(lock)), random_([] {
        std::random_device device;
        return (std::uint64_t{device()} << 32) | device();
      }()) {
  writer_ = std::make_unique<Writer>(
      std::move(file), options_, mutex, topics, [this](Instant now) { return tick(now); },
      [this] {
        for (EmbeddedMember* m : members_) m->batch_over();
      });
}

Core::~Core() { close(); }

void Core::close() { writer_->stop(); }

void Core::load(const std::vector<StoredTopic>& stored, const std::vector<StoredOffset>& offsets) {
  std::map<std::int64_t, PartitionLog*> by_id;
  for (const StoredTopic& from : stored) {
    Topic& topic = topics[from.spec.name];
    topic.id = from.id;
    topic.spec = from.spec;
    for (const StoredPartition& p : from.partitions) {
      PartitionLog& log = topic.logs.emplace_back();
      log.tp = {from.spec.name, Partition(static_cast<std::int32_t>(topic.logs.size()) - 1)};
      log.stored = p;
      log.planned = p.end;
      log.planned_last = p.last;
      by_id[p.id] = &log;
    }
  }
  for (const StoredOffset& o : offsets)
    if (const auto at = by_id.find(o.partition); at != by_id.end())
      group(o.group).commit(at->second->tp, o.offset, o.metadata);
}

// ---- Topics and groups -------------------------------------------------------------------------------

Topic* Core::topic(const std::string& name) {
  const auto it = topics.find(name);
  return it == topics.end() ? nullptr : &it->second;
}

PartitionLog* Core::log(const TopicPartition& tp) {
  Topic* found = topic(tp.topic);
  if (found == nullptr || tp.partition.v < 0) return nullptr;
  const auto index = static_cast<std::size_t>(tp.partition.v);
  return index < found->logs.size() ? &found->logs[index] : nullptr;
}

Group* Core::find_group(const std::string& name) {
  const auto it = groups_.find(name);
  return it == groups_.end() ? nullptr : it->second.get();
}

Group& Core::group(const std::string& name) {
  auto& found = groups_[name];
  if (!found)
    found = std::make_unique<Group>(
        name,
        Group::World{.partitions =
                         [this](const std::string& t) {
                           const Topic* there = topic(t);
                           return there == nullptr ? 0 : there->spec.partitions;
                         },
                     .busy = [this](const std::string& g, const TopicPartition& tp) { return writer_->busy(g, tp); },
                     .now = [this] { return now().steady; }});
  return *found;
}

std::optional<Refusal> Core::place(const Record& record, PartitionLog*& where) {
  Topic* found = topic(record.topic);
  if (found == nullptr) return Refusal::kUnknownTopic;
  const auto count = static_cast<std::int32_t>(found->logs.size());
  std::int32_t p = 0;
  if (record.partition) {
    p = record.partition->v;
  } else if (record.key) {
    p = partition_of_key(*record.key, count);
  } else {
    p = keyless_ % count;
    keyless_ = (keyless_ + 1) & 0x3fffffff;
  }
  if (p < 0 || p >= count) return Refusal::kUnknownTopic;
  if (found->denied) return Refusal::kDenied;
  if (payload_size(record) > found->spec.max_message) return Refusal::kTooLarge;
  if (found->stalled) return Refusal::kTimeout;
  where = &found->logs[static_cast<std::size_t>(p)];
  return std::nullopt;
}

// ---- Members -----------------------------------------------------------------------------------------

void Core::add(EmbeddedMember& member) {
  member.set_number(++last_member_);
  members_.push_back(&member);
}

void Core::remove(EmbeddedMember& member) {
  std::erase(members_, &member);
  for (auto& [name, topic] : topics)
    for (PartitionLog& log : topic.logs) std::erase(log.waiters, &member);
}

EmbeddedMember* Core::member(std::uint64_t number) {
  for (EmbeddedMember* m : members_)
    if (m->number() == number) return m;
  return nullptr;
}

EmbeddedMember* Core::member(const std::string& transactional_id) {
  for (EmbeddedMember* m : members_)
    if (m->transactional_id() == transactional_id) return m;
  return nullptr;
}

std::string Core::new_transactional_id(const GroupSpec& spec) {
  char random[17];
  std::snprintf(random, sizeof random, "%016llx", static_cast<unsigned long long>(random_.next()));
  return "bartleby." + spec.group + "." + spec.instance + "." + random;
}

Instant Core::tick(Instant now) {
  Instant next = kNever;
  for (const auto& [name, g] : groups_) {
    g->expire(now);
    next = std::min(next, g->next_deadline());
  }
  for (EmbeddedMember* m : members_) m->tick(now, next);
  tick_held(now, next);
  return next;
}

// ---- Calls that wait ---------------------------------------------------------------------------------

Result<void> Core::call(const std::shared_ptr<Job>& job) {
  const auto limit = std::chrono::steady_clock::now() + options_.request_limit;
  {
    std::unique_lock lock(mutex);
    const bool room = writer_->room().wait_until(lock, limit, [&] { return writer_->has_room(job->bytes); });
    if (!room) return fail(ErrorCode::kUnavailable, "too much is waiting to be written to " + path());
    writer_->enqueue(job);
  }
  if (!job->answered.try_acquire_until(limit)) {
    {
      const std::unique_lock lock(mutex);
      if (writer_->forget(job)) return fail(ErrorCode::kUnavailable, path() + " was not written in time");
    }
    job->answered.acquire();  // its records are the caller's, and they are being written
  }
  if (job->landing == Landing::kDone) return {};
  return std::unexpected(job->error);
}

// ---- Writes that tests hold open ---------------------------------------------------------------------

bool Core::pending(const std::string& group, const TopicPartition& tp) const {
  for (const HeldWrite& write : held)
    if (write.group == group)
      for (const Job::Commit& commit : write.job->commits)
        if (commit.log->tp == tp) return true;
  return false;
}

void Core::end_held(const HeldWrite& write) {
  for (std::size_t i = 0; i < write.job->where.size(); ++i) {
    std::erase(write.job->where[i]->held, write.job->offsets[i]);
    wake_all(*write.job->where[i]);
  }
}

void Core::give_up_held(const std::string& transactional_id) {
  for (const HeldWrite& write : held)
    if (write.transactional_id == transactional_id) end_held(write);
  std::erase_if(held, [&](const HeldWrite& w) { return w.transactional_id == transactional_id; });
}

void Core::tick_held(Instant now, Instant& next) {
  for (std::size_t i = 0; i < held.size(); ++i) {
    HeldWrite& write = held[i];
    if (!write.was_told && write.told <= now) {
      write.was_told = true;
      if (EmbeddedMember* m = member(write.transactional_id)) m->answer_lost(*write.job);
    }
    const bool late = write.late <= now;
    if (late || write.given_up <= now) {
      const HeldWrite over = std::move(write);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(i--));
      if (!late) {
        end_held(over);
        continue;
      }
      over.job->kind = Job::Kind::kReserved;
      over.job->landed = [this, over](Landing, const Error&) { end_held(over); };
      writer_->enqueue(over.job);
      continue;
    }
    next = std::min({next, write.was_told ? kNever : write.told, write.late, write.given_up});
  }
}

}  // namespace bartleby::embedded
