// The atomic write on Kafka: a transactional producer, and one transaction at a time.
//
// One thread calls it; every call blocks, up to the limit of a write and, where the id must be had first, about twice
// as long before that. It owns the producer, which is made anew under
// the same transactional id when it is broken or when an outcome is in doubt: that ends what was open, one way or
// the other, and shuts out a request that is still on its way. `shut_out` in an answer: somebody else uses the id
// now. Where what was open cannot end, a member's goes on under another id (docs/decisions/0016).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "adapters/broker/kafka/admin.h"
#include "adapters/broker/kafka/faults.h"
#include "adapters/broker/kafka/handles.h"
#include "ports/broker.h"

namespace bartleby::kafka {

struct WriteOrder {
  WriteSerial serial;
  std::vector<Record> records;
  std::vector<CommittedOffset> offsets;
  GroupMetadataPtr group;  // as it was when the owner was checked; absent without offsets
  std::optional<WriteFate> fate;
};

struct WriteReport {
  WriteAnswered answer;
  std::vector<Written> written;  // kDone: where the records are, in their order
  bool failed = false;           // no write of this id can succeed any more
  bool shut_out = false;
  bool unknown_member = false;  // the group goes on without who wrote its offsets
  std::string message;
};

class Transactions {
 public:
  // With the group whose offsets it writes it may change its id; without, the id is what others are shut out by.
  Transactions(std::shared_ptr<Admin> admin, std::string transactional_id, std::string group = {});

  WriteReport write(const WriteOrder& order);
  // Whatever was open is over when this answers, as far as a stable read of its offsets can tell.
  Result<void> renew();
  // For tests: the producer whose last request was to be sent late (faults.h), if there is one.
  HandlePtr take_late() { return late_ ? std::move(held_) : nullptr; }

 private:
  using Clock = std::chrono::steady_clock;
  using Deadline = Clock::time_point;
  struct Delivery {
    bool over = false;
    rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
    Written where;
  };
  // How one step ended; `code` 0: well.
  struct Step {
    rd_kafka_resp_err_t code = RD_KAFKA_RESP_ERR_NO_ERROR;
    bool retriable = false, fatal = false;
    std::string text;

    bool well() const { return code == RD_KAFKA_RESP_ERR_NO_ERROR; }
  };
  static Step step_of(rd_kafka_error_t* error);

  // What can be told before anything is sent. An error: not now.
  Result<std::vector<RefusedRecord>> refusals(const WriteOrder& order);
  Step send(const WriteOrder& order, Deadline deadline);
  Result<HandlePtr> take_another(const std::string& why);
  bool look_again(const std::string& topic, Deadline deadline);
  void take_reports(Duration wait);
  bool reported() const { return waiting_ == 0; }
  bool await_reports(Deadline deadline);
  Step send_offsets(const WriteOrder& order, Deadline deadline);
  Step commit(Deadline deadline);
  std::vector<RefusedRecord> blamed(const WriteOrder& order);
  std::vector<RefusedRecord> denied(const WriteOrder& order);
  void take_back(Deadline deadline);
  rd_kafka_resp_err_t fatal_error(std::string* message = nullptr) const;
  void drop();
  void drop_broken();
  WriteReport report(const WriteOrder& order, WriteResult result, std::vector<RefusedRecord> refused = {}) const;
  WriteReport gone_wrong(const WriteOrder& order, const Step& step);
  WriteReport in_doubt(const WriteOrder& order);
  WriteReport play(const WriteOrder& order, Deadline deadline);
  int left(Deadline deadline) const;

  const std::shared_ptr<Admin> admin_;
  const std::string first_id_;
  const std::string group_;
  std::string id_;
  std::uint32_t ids_ = 1;
  bool id_written_ = false;            // a write was done under it
  std::set<TopicPartition> open_tps_;  // of offsets since the last write that was done, with that one's
  HandlePtr producer_;                 // absent: broken, or in doubt; `renew` makes another
  QueuePtr reports_;
  std::uint32_t number_ = 0;  // of the write, so that late reports are told apart
  std::vector<Delivery> deliveries_;
  std::size_t waiting_ = 0;
  HandlePtr held_;  // by a test: its transaction is open
  bool late_ = false;
  std::uint32_t late_requests_ = 0;
};

// Who writes under this id can do so no more, and nothing of it is pending.
Result<void> fence(const Admin& admin, const std::string& transactional_id);

}  // namespace bartleby::kafka
