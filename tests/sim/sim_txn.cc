#include "tests/sim/sim_txn.h"

namespace bartleby::sim {

void TxnCoordinator::init(TxnWriter& writer, ClientNo client, Initialised done) {
  if (writer.state == TxnWriter::State::kOpen) {
    ++writer.epoch;  // before anything else: a commit that is on its way must find itself shut out
    writer.owner = client;
    complete(writer, false);
  }
  if (writer.state == TxnWriter::State::kCompleting) {
    writer.waiting.push_back(
        [this, &writer, client, done = std::move(done)]() mutable { init(writer, client, std::move(done)); });
    return;
  }
  writer.owner = client;
  done(++writer.epoch);
}

void TxnCoordinator::begin(TxnWriter& writer, ClientNo client, std::uint32_t epoch, Begun done) {
  if (const TxnVerdict verdict = check(writer, client, epoch); verdict != TxnVerdict::kOk) return done(verdict);
  if (writer.state == TxnWriter::State::kCompleting) {
    writer.waiting.push_back([this, &writer, client, epoch, done = std::move(done)]() mutable {
      begin(writer, client, epoch, std::move(done));
    });
    return;
  }
  BARTLEBY_ASSERT(writer.state == TxnWriter::State::kEmpty);
  writer.state = TxnWriter::State::kOpen;
  writer.txn = ++last_txn_;
  scheduler_.after(faults_.transaction_timeout, [this, &writer, txn = writer.txn] {
    if (writer.state != TxnWriter::State::kOpen || writer.txn != txn) return;
    ++writer.epoch;
    complete(writer, false);
  });
  done(TxnVerdict::kOk);
}

TxnVerdict TxnCoordinator::check(const TxnWriter& writer, ClientNo client, std::uint32_t epoch) const {
  if (writer.epoch == epoch) return TxnVerdict::kOk;
  return writer.owner == client ? TxnVerdict::kOver : TxnVerdict::kFenced;
}

void TxnCoordinator::add(TxnWriter& writer, PartitionLog& log) {
  if (std::find(writer.logs.begin(), writer.logs.end(), &log) == writer.logs.end()) writer.logs.push_back(&log);
}

void TxnCoordinator::add(TxnWriter& writer, SimGroup& group) {
  if (std::find(writer.groups.begin(), writer.groups.end(), &group) == writer.groups.end())
    writer.groups.push_back(&group);
}

TxnVerdict TxnCoordinator::end(TxnWriter& writer, ClientNo client, std::uint32_t epoch, bool commit) {
  if (const TxnVerdict verdict = check(writer, client, epoch); verdict != TxnVerdict::kOk) return verdict;
  BARTLEBY_ASSERT(writer.state == TxnWriter::State::kOpen);
  complete(writer, commit);
  return TxnVerdict::kOk;
}

void TxnCoordinator::complete(TxnWriter& writer, bool commit) {
  writer.state = TxnWriter::State::kCompleting;
  writer.markers_missing = writer.logs.size() + writer.groups.size() + 1;
  const TxnId txn = writer.txn;
  auto mark = [&](auto task) {
    const Duration delay = faults_.marker_delay(scheduler_.random());
    if (delay == Duration(0)) return task();
    scheduler_.after(delay, std::move(task));
  };
  for (PartitionLog* log : writer.logs) {
    mark([this, &writer, log, txn, commit] {
      log->finish(txn, commit, visible_);
      marked(writer);
    });
  }
  for (SimGroup* group : writer.groups) {
    mark([this, &writer, group, txn, commit] {
      group->finish(txn, commit);
      marked(writer);
    });
  }
  marked(writer);  // the one counted above, so that markers written at once do not end the loops under way
}

void TxnCoordinator::marked(TxnWriter& writer) {
  if (--writer.markers_missing > 0) return;
  writer.state = TxnWriter::State::kEmpty;
  writer.logs.clear();
  writer.groups.clear();
  std::vector<Scheduler::Task> waiting;
  waiting.swap(writer.waiting);
  for (auto& task : waiting) scheduler_.after(Duration(0), std::move(task));
}

}  // namespace bartleby::sim
