// The simulated transaction coordinator: writers by transactional id, their producer epochs and their one
// open transaction.
//
// `init` is the fence: it raises the epoch, takes back a transaction that is open, waits for one that is
// being completed, and only then answers. A request with an older epoch is refused and changes nothing. When
// the end of a transaction is accepted its fate is sealed; the markers reach the partitions and the group
// one by one, later, and until all are there the writer can begin nothing new.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/scheduler.h"
#include "tests/sim/sim_faults.h"
#include "tests/sim/sim_group.h"
#include "tests/sim/sim_log.h"

namespace bartleby::sim {

enum class TxnVerdict : std::uint8_t {
  kOk,
  kOver,    // the transaction was ended by its time limit, or by the writer's own init
  kFenced,  // somebody else has done init with the writer's id
};

struct TxnWriter {
  enum class State : std::uint8_t { kEmpty, kOpen, kCompleting };
  State state = State::kEmpty;
  std::uint32_t epoch = 0;
  ClientNo owner = 0;  // who did init last
  TxnId txn = 0;
  std::vector<PartitionLog*> logs;
  std::vector<SimGroup*> groups;
  std::size_t markers_missing = 0;
  std::vector<Scheduler::Task> waiting;  // tried again when the transaction is complete
};

class TxnCoordinator {
 public:
  using Visible = std::function<void(const TopicPartition&, const LogRecord&)>;
  using Begun = std::move_only_function<void(TxnVerdict)>;
  using Initialised = std::move_only_function<void(std::uint32_t epoch)>;

  TxnCoordinator(Scheduler& scheduler, const BrokerFaults& faults, Visible visible)
      : scheduler_(scheduler), faults_(faults), visible_(std::move(visible)) {}

  TxnWriter& writer(const std::string& id) { return writers_[id]; }  // the address stays

  void init(TxnWriter& writer, ClientNo client, Initialised done);
  void begin(TxnWriter& writer, ClientNo client, std::uint32_t epoch, Begun done);
  TxnVerdict check(const TxnWriter& writer, ClientNo client, std::uint32_t epoch) const;
  void add(TxnWriter& writer, PartitionLog& log);
  void add(TxnWriter& writer, SimGroup& group);
  // Of the open transaction. `kOk`: it will be so, whatever comes.
  TxnVerdict end(TxnWriter& writer, ClientNo client, std::uint32_t epoch, bool commit);

 private:
  void complete(TxnWriter& writer, bool commit);
  void marked(TxnWriter& writer);

  Scheduler& scheduler_;
  const BrokerFaults& faults_;
  Visible visible_;
  TxnId last_txn_ = 0;
  std::map<std::string, TxnWriter, std::less<>> writers_;
};

}  // namespace bartleby::sim
