#include "adapters/broker/embedded/writer.h"

#include <sqlite3.h>

#include "adapters/broker/embedded/embedded_member.h"
#include "base/assert.h"
#include "base/death_point.h"
#include "base/thread_name.h"

namespace bartleby::embedded {
namespace {

constexpr std::chrono::milliseconds kLongestDelay{2};
constexpr Duration kProbeEvery{1000};

int note_pages(void* to, sqlite3*, const char*, int pages) {
  *static_cast<int*>(to) = pages;
  return SQLITE_OK;
}

}  // namespace

Writer::Writer(LogFile file, Options options, std::mutex& mutex, Topics& topics, std::function<Instant(Instant)> tick,
               std::function<void()> batch_over)
    : file_(std::move(file)),
      options_(std::move(options)),
      mutex_(mutex),
      tick_(std::move(tick)),
      batch_over_(std::move(batch_over)),
      upkeep_(options_, topics) {
  sqlite3_wal_hook(file_.database().handle(), note_pages, &wal_pages_);
}

Writer::~Writer() { stop(); }

void Writer::start() {
  next_upkeep_ = options_.clock->now().steady + options_.upkeep_every;
  thread_ = std::thread([this] { run(); });
}

void Writer::stop() {
  {
    const Lock lock(mutex_);
    stopping_ = true;
    work_.notify_all();
    room_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

// ---- The queue ---------------------------------------------------------------------------------------

void Writer::enqueue(std::shared_ptr<Job> job) {
  if (stopping_) {
    land(*job, Landing::kNotDone, fail(ErrorCode::kUnavailable, "the broker is closed").error());
    return job->answered.release();
  }
  queued_bytes_ += job->bytes;
  queue_.push_back(std::move(job));
  if (queue_.size() == 1 || queue_.size() == expected_) work_.notify_one();
}

bool Writer::has_room(std::size_t bytes) const {
  if (queue_.empty()) return true;
  return queue_.size() < options_.queue_jobs && queued_bytes_ + bytes <= options_.queue_bytes;
}

bool Writer::forget(const std::shared_ptr<Job>& job) {
  if (std::erase(queue_, job) == 0) return false;
  queued_bytes_ -= job->bytes;
  return true;
}

bool Writer::busy(const std::string& group, const TopicPartition& tp) const {
  for (const auto& job : batch_)
    for (const Job::Commit& commit : job->commits)
      if (commit.group->name() == group && commit.log->tp == tp) return true;
  return false;
}

bool Writer::writing(const void* writer) const {
  auto its = [&](const auto& job) { return job->writer == writer; };
  return std::ranges::any_of(batch_, its) || std::ranges::any_of(queue_, its);
}

void Writer::upkeep_now() {
  next_upkeep_ = Instant{};
  work_.notify_all();
}

// ---- The thread --------------------------------------------------------------------------------------

void Writer::run() {
  name_thread("log writer");
  Lock lock(mutex_);
  for (;;) {
    const Instant now = options_.clock->now().steady;
    const Instant next_tick = tick_(now);
    if (!queue_.empty()) {
      write_batch(lock);
      if (options_.clock->now().steady >= next_upkeep_) do_upkeep(lock);
    } else if (stopping_) {
      return;
    } else if (!writable_ && now >= next_probe_) {
      probe(lock);
    } else if (now >= next_upkeep_ || !upkeep_.idle()) {
      do_upkeep(lock);
    } else {
      options_.clock->wait(lock, work_, std::min({next_tick, next_upkeep_, writable_ ? kNever : next_probe_}), false);
    }
    if (wal_pages_ < checkpointed_) checkpointed_ = 0;  // SQLite has begun the log anew
    if (wal_pages_ >= options_.checkpoint_pages + checkpointed_)
      checkpoint(lock, wal_pages_ >= options_.wal_pages_limit);
  }
}

void Writer::gather() {
  const Timestamp now = options_.clock->now().wall;
  std::size_t records = 0, bytes = 0;
  while (!queue_.empty() && (batch_.empty() || (records + queue_.front()->records.size() <= options_.batch_records &&
                                                bytes + queue_.front()->bytes <= options_.batch_bytes))) {
    std::shared_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= job->bytes;
    if (job->admit && !job->admit()) {
      job->answered.release();
      continue;
    }
    records += job->records.size();
    bytes += job->bytes;
    if (job->kind != Job::Kind::kReserved) {
      job->offsets.reserve(job->where.size());
      job->timestamps.reserve(job->where.size());
      for (PartitionLog* log : job->where) {
        log->planned_last = std::max(log->planned_last, now);
        job->offsets.push_back(log->planned);
        job->timestamps.push_back(log->planned_last);
        log->planned = next(log->planned);
      }
    }
    batch_.push_back(std::move(job));
  }
}

// Those who were answered together come back together, but not at one instant. Without this the first of them would
// get a commit for itself and the others wait for it. It costs an eighth of a commit at most, and nothing for one
// producer.
void Writer::wait_for_siblings(Lock& lock) {
  if (expected_ <= 1) return;
  const auto limit = RealTime::now() + std::min<RealTime::duration>(commit_time_ / 8, kLongestDelay);
  work_.wait_until(lock, limit, [&] { return queue_.size() >= expected_ || stopping_; });
}

void Writer::write_batch(Lock& lock) {
  wait_for_siblings(lock);
  gather();
  room_.notify_all();
  if (batch_.empty()) return;
  expected_ = batch_.size();
  const bool writes = !nothing_to_write() || in_doubt_;
  lock.unlock();
  const auto began = RealTime::now();
  Result<void> done = write();
  commit_time_ = RealTime::now() - began;
  bool doubt = false;
  if (!done) {
    doubt = file_.commit_in_doubt();
    done = std::unexpected(cannot_write(done.error()));
    file_.rollback();
    // A commit of which the disk has not said whether it has it is overwritten by the next one.
    if (doubt && file_.begin() && file_.touch() && file_.commit()) doubt = false;
    if (doubt) file_.rollback();
  }
  lock.lock();
  ++batches_;
  in_doubt_ = doubt || (in_doubt_ && !done);
  if (done)
    publish(Landing::kDone, {});
  else
    publish(doubt ? Landing::kUnknown : Landing::kNotDone, done.error());
  batch_over_();
  // Without the lock: they would run into it.
  lock.unlock();
  death_point("write.published");
  for (const auto& job : over_) job->answered.release();
  over_.clear();
  lock.lock();
  if (writes) set_writable(lock, done);
}

bool Writer::nothing_to_write() const {
  return std::ranges::all_of(
      batch_, [](const auto& job) { return job->records.empty() && job->commits.empty() && !job->also; });
}

Error Writer::cannot_write(Error error) const {
  const std::string what = file_.full() ? "the disk is full: the log in " + options_.folder + " cannot grow. Free space"
                                        : "the log in " + options_.folder + " cannot be written. Mend its disk";
  error.message = what + "; nothing is lost, and it goes on by itself (" + error.message + ")";
  return error;
}

// A commit that changes nothing: nobody may be there whose write would tell that it works again.
void Writer::probe(Lock& lock) {
  lock.unlock();
  Result<void> done = file_.begin();
  if (done) done = file_.touch();
  if (done) done = file_.commit();
  if (!done) {
    done = std::unexpected(cannot_write(done.error()));
    file_.rollback();
  }
  lock.lock();
  in_doubt_ = in_doubt_ && !done;
  set_writable(lock, done);
}

// On a disk that is almost full small writes work and others do not: it works again when none has failed for a while.
void Writer::set_writable(Lock& lock, const Result<void>& result) {
  const Instant now = options_.clock->now().steady;
  if (result && (writable_ || now < next_probe_)) return;
  const bool changed = result.has_value() != writable_.has_value();
  writable_ = result;
  next_probe_ = now + kProbeEvery;
  if (!changed || !options_.writable_told) return;
  lock.unlock();  // whoever listens may be slow
  options_.writable_told(result);
  lock.lock();
}

Result<void> Writer::write() {
  const bool nothing = nothing_to_write();
  if (nothing && !in_doubt_) return {};
  if (auto begun = file_.begin(); !begun) return begun;
  if (nothing)
    if (auto touched = file_.touch(); !touched) return touched;
  for (const auto& job : batch_) {
    if (job->kind != Job::Kind::kReserve)
      for (std::size_t i = 0; i < job->records.size(); ++i) {
        const std::int64_t position = position_of(job->where[i]->stored.id, job->offsets[i]);
        if (auto done = file_.append(position, job->timestamps[i], job->records[i]); !done) return done;
      }
    if (job->kind == Job::Kind::kReserve)
      for (std::size_t i = 0; i < job->records.size(); ++i) {
        StoredPartition reserved = job->where[i]->stored;
        reserved.end = next(job->offsets[i]);
        if (auto done = file_.save(reserved); !done) return done;
      }
    else
      for (const Job::Commit& c : job->commits)
        if (auto done = file_.set_offset({c.group->name(), c.log->stored.id, c.offset, c.metadata}); !done) return done;
    if (job->also)
      if (auto done = job->also(file_); !done) return done;
  }
  const bool offsets = std::ranges::any_of(batch_, [](const auto& job) { return !job->commits.empty(); });
  death_point(offsets ? "write.begun" : "append.begun");
  auto committed = file_.commit();
  death_point(offsets ? "write.committed" : "append.committed");
  return committed;
}

void Writer::publish(Landing landing, const Error& error) {
  over_.swap(batch_);  // before the groups are told: what was busy no longer is
  for (const auto& job : over_) {
    for (std::size_t i = 0; i < job->where.size(); ++i) {
      PartitionLog& log = *job->where[i];
      if (landing != Landing::kDone) {
        // Offsets of a commit in doubt are given out again: a later commit at the same place has overwritten it.
        log.planned = log.stored.end;
        log.planned_last = log.stored.last;
        continue;
      }
      if (job->kind != Job::Kind::kReserved) log.stored.end = next(job->offsets[i]);
      log.stored.last = std::max(log.stored.last, job->timestamps[i]);
      if (job->kind != Job::Kind::kReserve) {
        const std::size_t bytes = payload_size(job->records[i]);
        log.stored.bytes += bytes;
        log.unsaved += bytes;
      }
    }
    if (landing == Landing::kDone && job->kind != Job::Kind::kReserve)
      for (Job::Commit& c : job->commits) c.group->commit(c.log->tp, c.offset, c.metadata);
    land(*job, landing, error);
    if (landing != Landing::kDone) continue;
    for (PartitionLog* log : job->where)
      if (!log->waiters.empty()) wake_all(*log);
  }
  for (const auto& job : over_)
    for (const Job::Commit& c : job->commits) c.group->settle();
}

void Writer::land(Job& job, Landing landing, const Error& error) {
  job.landing = landing;
  job.error = error;
  // It may hold the job itself.
  if (auto landed = std::exchange(job.landed, nullptr)) landed(landing, error);
}

// ---- Between transactions ----------------------------------------------------------------------------

void Writer::do_upkeep(Lock& lock) {
  const Now now = options_.clock->now();
  if (now.steady >= next_upkeep_) {
    upkeep_.begin_round();
    next_upkeep_ = now.steady + options_.upkeep_every;
    if (wal_pages_ > checkpointed_) checkpoint(lock, false);
  }
  upkeep_running_ = true;
  // One slice between two transactions; what is left is done when nobody waits.
  do {
    const auto done = upkeep_.slice(file_, lock, now.wall);
    death_point("upkeep.slice");
    upkeep_result_ = done ? Result<void>() : std::unexpected(done.error());
    if (!done) upkeep_.give_up();  // tried again with the next round
    if (!done || !*done) break;
  } while (queue_.empty() && !stopping_);
  upkeep_running_ = false;
  room_.notify_all();
  tell(lock, "upkeep", upkeep_told_, upkeep_result_);
}

// What it cannot move stays in the write-ahead log and is moved later; nothing depends on it but room.
void Writer::checkpoint(Lock& lock, bool all) {
  lock.unlock();
  const auto moved = file_.checkpoint(all);
  death_point("checkpoint.done");
  lock.lock();
  if (!moved) upkeep_result_ = std::unexpected(moved.error());
  checkpointed_ = wal_pages_;
  tell(lock, "checkpoint", checkpoint_told_, moved ? Result<void>() : std::unexpected(moved.error()));
}

// Without the lock: whoever listens may be slow.
void Writer::tell(Lock& lock, std::string_view chore, std::string& told, const Result<void>& result) {
  const std::string now = result ? "" : result.error().message;
  if (now == told) return;
  told = now;
  if (!options_.chore_told) return;
  const Result<void> copy = result;
  lock.unlock();
  options_.chore_told(chore, copy);
  lock.lock();
}

}  // namespace bartleby::embedded
